package io.trunkcall.test;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The extension in a field of the instance. */
class TestServerPerTestTest {
  private static final Set<TestServer> SEEN = new HashSet<>();

  @RegisterExtension
  final TestServerExtension server =
      TestServerExtension.of(TestServer.onLoopback().publish(new Calculator()));

  @RepeatedTest(2)
  void eachTestHasAServerOfItsOwn() {
    assertEquals(2, server.client(Calculator.Client.class).div(6, 3));
    SEEN.add(server.server());
  }

  @AfterAll
  static void theyEndWithTheirTests() {
    assertEquals(2, SEEN.size());
    SEEN.forEach(one -> assertEquals(List.of(), one.server().addresses()));
  }
}
