package io.trunkcall.test;

import static io.trunkcall.test.CallAssertions.assertFails;
import static io.trunkcall.test.CallAssertions.assertNotExecuted;
import static io.trunkcall.test.CallAssertions.assertStatus;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.trunkcall.Client;
import io.trunkcall.Code;
import io.trunkcall.Delivery;
import io.trunkcall.Status;
import io.trunkcall.StatusException;
import io.trunkcall.codefirst.CodeFirst;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.opentest4j.AssertionFailedError;

/** Checks of how calls fail. */
class CallAssertionsTest {
  @RegisterExtension
  static final TestServerExtension SERVER =
      TestServerExtension.of(TestServer.inMemory().publish(new Calculator()));

  @Test
  void aFailureOfTheHandlerWasExecuted(Calculator.Client calculator) {
    StatusException failure =
        assertFails(Code.INVALID_ARGUMENT, Delivery.EXECUTED, () -> calculator.div(1, 0));
    assertEquals("a division by zero", failure.status().message());
    assertFails(Code.INVALID_ARGUMENT, () -> calculator.div(1, 0));
    assertFails(Code.INVALID_ARGUMENT, calculator.divAsync(1, 0));
    assertFails(Code.INVALID_ARGUMENT, Delivery.EXECUTED, calculator.divAsync(1, 0));
  }

  @Test
  void whatWasRefusedOrNotSentWasNotExecuted(Calculator.Client calculator) {
    assertNotExecuted(() -> calculator.mod(6, 3));
    assertFails(Code.UNIMPLEMENTED, Delivery.REFUSED, () -> calculator.mod(6, 3));
    try (Client nowhere = Client.of("mem:nowhere")) {
      Calculator.Client lost = CodeFirst.client(Calculator.Client.class, nowhere);
      assertFails(Code.UNAVAILABLE, Delivery.NOT_SENT, () -> lost.div(6, 3));
    }
  }

  @Test
  void anotherCodeOrDeliveryIsShownBesideTheMessage(Calculator.Client calculator) {
    AssertionFailedError code =
        assertThrows(
            AssertionFailedError.class,
            () -> assertFails(Code.NOT_FOUND, () -> calculator.div(1, 0)));
    assertTrue(code.getMessage().contains("a division by zero"), code.getMessage());
    assertEquals("NOT_FOUND", code.getExpected().getValue());
    assertEquals("INVALID_ARGUMENT (executed)", code.getActual().getValue());
    assertThrows(AssertionFailedError.class, () -> assertNotExecuted(() -> calculator.div(1, 0)));
    assertThrows(
        AssertionFailedError.class,
        () -> assertStatus(Code.OK, Delivery.EXECUTED, Status.of(Code.OK, "")));
  }

  @Test
  void whatSucceedsOrFailsOtherwiseIsNoFailedCall() {
    AssertionError succeeded =
        assertThrows(AssertionError.class, () -> assertFails(Code.NOT_FOUND, () -> {}));
    assertEquals("the call succeeded", succeeded.getMessage());
    RuntimeException fault = new RuntimeException("a fault of the test's");
    AssertionError other =
        assertThrows(
            AssertionError.class,
            () -> assertFails(Code.NOT_FOUND, CompletableFuture.failedFuture(fault)));
    assertSame(fault, other.getCause());
  }
}
