package io.trunkcall.test;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.trunkcall.Client;
import io.trunkcall.codefirst.CodeFirst;
import org.junit.jupiter.api.Test;

/** A server and a client in one. */
class TestServerTest {
  @Test
  void aServerInMemoryHasNoPort() {
    try (TestServer server = TestServer.inMemory().publish(new Calculator()).start()) {
      assertEquals(2, server.client(Calculator.Client.class).div(6, 3));
      assertEquals(0, server.port());
    }
  }

  @Test
  void serversInMemoryAreApart() {
    TestServer.Builder builder = TestServer.inMemory();
    try (TestServer one = builder.start();
        TestServer other = builder.start()) {
      assertNotEquals(one.target(), other.target());
    }
  }

  @Test
  void aServerOnLoopbackCanBeCalledByOthers() {
    try (TestServer server = TestServer.onLoopback().publish(new Calculator()).start();
        Client other = Client.of("127.0.0.1:" + server.port())) {
      assertEquals(2, CodeFirst.client(Calculator.Client.class, other).div(6, 3));
    }
  }

  @Test
  void theServerAndTheClientAreSetUpAsATestWants() {
    TestServer.Builder builder =
        TestServer.inMemory()
            .publish(new Calculator())
            .client(client -> client.serve().connections(2))
            .server(server -> server.runningHandlers(1));
    try (TestServer server = builder.start()) {
      server.client().connect().join();
      assertEquals(2, server.client().connections().size());
    }
  }

  @Test
  void whatCannotBeServedIsRefusedByItsClass() {
    TestServer.Builder builder = TestServer.inMemory();
    Exception refused =
        assertThrows(IllegalArgumentException.class, () -> builder.publish(new Object()));
    assertTrue(refused.getMessage().startsWith("java.lang.Object"), refused.getMessage());
  }
}
