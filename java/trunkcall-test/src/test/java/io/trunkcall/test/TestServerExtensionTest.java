package io.trunkcall.test;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.trunkcall.Caller;
import io.trunkcall.Client;
import io.trunkcall.Server;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** What the extension gives to tests. */
class TestServerExtensionTest {
  @RegisterExtension
  static final TestServerExtension SERVER =
      TestServerExtension.of(TestServer.inMemory().publish(new Calculator()));

  @Test
  void testsTakeWhatTheyUse(
      TestServer both, Server server, Client client, Caller caller, Calculator.Client calculator) {
    assertSame(SERVER.server(), both);
    assertSame(both.server(), server);
    assertSame(both.client(), client);
    assertSame(client, caller);
    assertEquals(2, calculator.div(6, 3));
  }

  @Nested
  class Within {
    @Test
    void aNestedTestHasTheServerOfTheClassAroundIt(Calculator.Client calculator) {
      assertEquals(2, calculator.div(6, 3));
    }
  }

  @AfterAll
  static void theServerIsThereUntilTheLastTestHasEnded(Calculator.Client calculator) {
    assertEquals(2, calculator.div(6, 3));
  }

  @Test
  void outsideOfTestsItSaysWhatIsMissing() {
    TestServerExtension forgotten = TestServerExtension.of(TestServer.inMemory());
    Exception refused = assertThrows(IllegalStateException.class, forgotten::client);
    assertTrue(refused.getMessage().contains("@RegisterExtension"), refused.getMessage());
  }
}
