package io.trunkcall.internal.wire;

import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class LargeArraysTest {
  private static final int KIB = 1 << 10;
  private static final int MIB = 1 << 20;

  @Test
  void whatWasGivenIsTakenOnceByWhoNeedsAsMuch() {
    LargeArrays arrays = new LargeArrays(8 * MIB);
    byte[] array = new byte[MIB];
    arrays.give(array);
    assertNull(arrays.take(MIB + 1), "too short");
    assertNull(arrays.take(MIB / 2), "it would hold much more than is needed");
    assertSame(array, arrays.take(MIB - 100));
    assertNull(arrays.take(MIB));
  }

  @Test
  void thoseNeededLastAreKeptUpToTheLimit() {
    LargeArrays arrays = new LargeArrays(2 * MIB);
    byte[] first = new byte[MIB];
    byte[] second = new byte[MIB];
    byte[] third = new byte[MIB];
    arrays.give(first);
    arrays.give(second);
    arrays.give(third);
    List<byte[]> kept = new ArrayList<>();
    kept.add(arrays.take(MIB));
    kept.add(arrays.take(MIB));
    assertTrue(kept.contains(second) && kept.contains(third));
    assertNull(arrays.take(MIB), "there was no room for the first any more");
  }

  @Test
  void whatIsShortOrWouldPushOutAllOthersIsNotKept() {
    LargeArrays arrays = new LargeArrays(2 * MIB);
    byte[] usual = new byte[200 * KIB];
    arrays.give(usual);
    arrays.give(new byte[LargeArrays.LEAST - 1]);
    arrays.give(new byte[MIB + 1]);
    assertNull(arrays.take(LargeArrays.LEAST - 1));
    assertNull(arrays.take(MIB + 1));
    assertNotNull(arrays.take(200 * KIB));
  }
}
