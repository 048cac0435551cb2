package io.trunkcall.internal.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class SpinningTest {
  private final Spinning spinning = new Spinning(true);

  /** Waits so often, and nothing comes; how often it was worth it. */
  private int inVain(int waits) {
    int tries = 0;
    for (int i = 0; i < waits; i++) {
      if (spinning.worthIt()) {
        tries++;
        spinning.didNotCome();
      }
    }
    return tries;
  }

  @Test
  void itGoesOnWhileItIsWorthIt() {
    for (int i = 0; i < 1_000; i++) {
      assertTrue(spinning.worthIt());
      spinning.came(50_000);
    }
  }

  @Test
  void eachTimeInVainLeavesOutTwiceAsMany() {
    assertEquals(11, inVain(11 + 1_023)); // behind each of them 1, 2, 4 … 512, 1,024
    assertEquals(2, inVain(2 * 1_025));
  }

  @Test
  void eachSuccessLeavesOutHalfAsMany() {
    inVain(4 + 15); // 8 are left out behind the last one
    assertTrue(spinning.worthIt());
    spinning.came(1);
    spinning.came(1);
    assertTrue(spinning.worthIt());
    spinning.didNotCome();
    assertEquals(0, inVain(4));
    assertTrue(spinning.worthIt());
  }

  @Test
  void whatIsAlwaysLateIsInVain() {
    for (int i = 0; i < 31; i++) {
      assertTrue(spinning.worthIt());
      spinning.came(50_001);
    }
    spinning.came(1);
    for (int i = 0; i < 32; i++) {
      assertTrue(spinning.worthIt());
      spinning.came(50_001);
    }
    assertFalse(spinning.worthIt());
  }

  @Test
  void whatComesBehindTheMomentIsInVain() {
    spinning.came(100_001);
    assertFalse(spinning.worthIt());
    assertTrue(spinning.worthIt());
  }

  @Test
  void itCanBeSwitchedOff() {
    assertFalse(new Spinning(false).worthIt());
  }

  @Test
  void theOptionHasThreeValues() {
    assertEquals(LoneCalls.Mode.OFF, LoneCalls.Mode.of("off"));
    assertEquals(LoneCalls.Mode.SLEEP, LoneCalls.Mode.of("Sleep"));
    assertEquals(LoneCalls.Mode.SPIN, LoneCalls.Mode.of("spin"));
    assertEquals(LoneCalls.Mode.SPIN, LoneCalls.Mode.of("what"));
  }
}
