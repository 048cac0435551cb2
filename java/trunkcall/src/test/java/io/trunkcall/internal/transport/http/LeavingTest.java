package io.trunkcall.internal.transport.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** How long messages of answers may be leaving (spec/limits.md 5 and 6). */
class LeavingTest {
  private static final long SECOND = 1_000_000; // µs

  private final Leaving leaving = new Leaving();

  @Test
  void aMessageHasAMinute() {
    leaving.add(1, 0);
    assertFalse(leaving.late(60 * SECOND - 1));
    assertTrue(leaving.late(60 * SECOND));
    leaving.left(1, true, 0);
    assertFalse(leaving.late(1_000 * SECOND));
  }

  @Test
  void aLongOneHasASecondMoreForEachPieceThatHasLeft() {
    for (int at = 0; at < 100; at++) {
      leaving.add(Leaving.PIECE, 0);
    }
    for (int at = 0; at < 50; at++) {
      leaving.left(Leaving.PIECE, false, at * SECOND);
    }
    assertEquals(50L * Leaving.PIECE, leaving.unsent());
    assertFalse(leaving.late(110 * SECOND - 1));
    assertTrue(leaving.late(110 * SECOND));
  }

  @Test
  void theTimeOfAMessageBeginsWhenTheOneBeforeHasLeft() {
    leaving.add(10, 0);
    leaving.add(10, 0);
    leaving.left(10, true, 59 * SECOND);
    assertFalse(leaving.late(119 * SECOND - 1));
    assertTrue(leaving.late(119 * SECOND));
  }
}
