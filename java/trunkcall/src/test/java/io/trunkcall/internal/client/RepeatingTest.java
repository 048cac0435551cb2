package io.trunkcall.internal.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.trunkcall.Code;
import io.trunkcall.Delivery;
import io.trunkcall.Status;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** Which calls are made again, and how many (client.md 2), and the delivery of several attempts. */
final class RepeatingTest {
  private static final long SECOND = 1_000_000_000L;
  private static final long MILLI = 1_000_000L;

  private int taken(Repeating budget, long now) {
    int taken = 0;
    while (budget.take(now)) {
      taken++;
    }
    return taken;
  }

  @Test
  void aHundredRepetitionsInTenSecondsAreAlwaysAllowed() {
    Repeating budget = new Repeating(0);
    assertEquals(100, taken(budget, 0));
    assertFalse(budget.take(10 * SECOND - 1));
    assertEquals(100, taken(budget, 10 * SECOND));
  }

  @Test
  void moreAreAllowedForOneInTenCalls() {
    Repeating budget = new Repeating(0);
    for (int i = 0; i < 3_009; i++) {
      budget.counted();
    }
    assertEquals(300, taken(budget, 5 * SECOND));
  }

  @Test
  void callsOfLongAgoDoNotCount() {
    Repeating budget = new Repeating(0);
    for (int i = 0; i < 10_000; i++) {
      budget.counted();
    }
    for (int second = 1; second <= 20; second++) {
      assertTrue(budget.take(second * SECOND));
    }
    assertEquals(91, taken(budget, 21 * SECOND), "nine of the last ten seconds were taken");
  }

  @Test
  void withinATimeInWhichNobodyAskedCallsAreTakenToBeSpreadEvenly() {
    Repeating budget = new Repeating(0);
    for (int i = 0; i < 20_000; i++) {
      budget.counted();
    }
    assertEquals(500, taken(budget, 40 * SECOND));
  }

  private static Status status(Code code, Delivery delivery, long retryAfterMillis) {
    return Status.of(code, "")
        .withDelivery(delivery)
        .withRetryAfter(Duration.ofMillis(retryAfterMillis));
  }

  private static long pause(Status status, boolean elsewhere) {
    return Repeating.pause(status, Long.MAX_VALUE, elsewhere);
  }

  @Test
  void aCallOfWhichNothingWasSentIsMadeAgainAtOnce() {
    assertEquals(0, pause(status(Code.UNAVAILABLE, Delivery.NOT_SENT, 0), false));
    assertEquals(-1, pause(status(Code.RESOURCE_EXHAUSTED, Delivery.NOT_SENT, 0), true));
    assertEquals(-1, pause(status(Code.DEADLINE_EXCEEDED, Delivery.NOT_SENT, 0), true));
  }

  @Test
  void aRefusedCallIsMadeAgainElsewhereOrLater() {
    Status refused = status(Code.UNAVAILABLE, Delivery.REFUSED, 300);
    assertEquals(0, pause(refused, true));
    assertEquals(300 * MILLI, pause(refused, false));
    Status full = status(Code.RESOURCE_EXHAUSTED, Delivery.REFUSED, 300);
    assertEquals(300 * MILLI, pause(full, true));
    assertEquals(300 * MILLI, pause(full, false));
  }

  @Test
  void whatWouldEndAlikeOrMayHaveRunIsNotMadeAgain() {
    assertEquals(-1, pause(status(Code.UNAVAILABLE, Delivery.REFUSED, 0), true));
    assertEquals(-1, pause(status(Code.PERMISSION_DENIED, Delivery.REFUSED, 300), true));
    assertEquals(-1, pause(status(Code.UNAVAILABLE, Delivery.EXECUTED, 300), true));
    assertEquals(-1, pause(status(Code.UNAVAILABLE, Delivery.UNKNOWN, 300), true));
  }

  @Test
  void aCallWaitsForASecondAtMostAndForLessThanTheTimeThatIsLeft() {
    assertEquals(SECOND, pause(status(Code.RESOURCE_EXHAUSTED, Delivery.REFUSED, 1_000), true));
    assertEquals(-1, pause(status(Code.RESOURCE_EXHAUSTED, Delivery.REFUSED, 1_001), true));
    Status full = status(Code.RESOURCE_EXHAUSTED, Delivery.REFUSED, 300);
    assertEquals(-1, Repeating.pause(full, 300 * MILLI, false));
    assertEquals(300 * MILLI, Repeating.pause(full, 300 * MILLI + 1, false));
    assertEquals(-1, Repeating.pause(status(Code.UNAVAILABLE, Delivery.NOT_SENT, 0), 0, false));
    long years = Duration.ofDays(365_000).toMillis();
    assertEquals(-1, pause(status(Code.RESOURCE_EXHAUSTED, Delivery.REFUSED, years), true));
  }

  @Test
  void ofSeveralAttemptsTheDeliveryIsThatWhichPromisesLeast() {
    Attempts attempts = new Attempts();
    assertFalse(attempts.wentOn());
    assertEquals(Delivery.NOT_SENT, attempts.delivery());
    attempts.begin();
    assertTrue(attempts.wentOn());
    assertEquals(Delivery.UNKNOWN, attempts.delivery(), "it is under way");
    attempts.end(Delivery.NOT_SENT);
    assertEquals(Delivery.NOT_SENT, attempts.delivery());
    attempts.begin();
    attempts.end(Delivery.REFUSED);
    assertEquals(Delivery.REFUSED, attempts.delivery());
    attempts.begin();
    attempts.end(Delivery.UNKNOWN);
    attempts.begin();
    attempts.end(Delivery.EXECUTED);
    attempts.begin();
    attempts.end(Delivery.REFUSED);
    assertEquals(Delivery.EXECUTED, attempts.delivery());
  }
}
