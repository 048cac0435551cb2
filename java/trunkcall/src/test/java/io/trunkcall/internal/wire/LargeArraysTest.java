package io.trunkcall.internal.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.trunkcall.Code;
import java.util.ArrayList;
import java.util.Arrays;
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

  @Test
  void messagesThatStillComeHaveNoMoreThanTheLimitTogether() {
    LargeArrays arrays = new LargeArrays(2 * MIB);
    arrays.give(new byte[MIB]);
    byte[] first = arrays.lend(MIB);
    assertNotNull(first);
    arrays.give(new byte[MIB]);
    assertNotNull(arrays.lend(MIB));
    arrays.give(new byte[MIB]);
    assertNull(arrays.lend(MIB), "two have begun");
    arrays.settle(first);
    assertNotNull(arrays.lend(MIB));
  }

  /** Has the first piece of a message come, and gives what follows. */
  private static byte[] begin(Pair pair) {
    long before = LargeArrays.shared().lent();
    LargeArrays.shared().give(new byte[200 * KIB]);
    OutgoingCall call = pair.stream();
    call.send(new byte[200 * KIB], 0, 200 * KIB, 0, false);
    byte[] data = Vectors.take(pair.client);
    int piece = Frame.HEADER + (Frame.word(data, 0) & 0xFFFFFF);
    Vectors.receive(pair.server, Arrays.copyOf(data, piece), 2);
    assertTrue(LargeArrays.shared().lent() >= before + 200 * KIB);
    return Arrays.copyOfRange(data, piece, data.length);
  }

  @Test
  void whatWasLentIsSettledHoweverTheMessageEnds() {
    long before = LargeArrays.shared().lent();
    Pair whole = new Pair();
    Vectors.receive(whole.server, begin(whole), 3);
    whole.exchange(3);
    assertEquals(200 * KIB, whole.served().takeMessage().length());
    assertEquals(before, LargeArrays.shared().lent());
    Pair failed = new Pair();
    begin(failed);
    failed.served().fail(Code.INTERNAL, "of the test");
    assertEquals(before, LargeArrays.shared().lent());
    Pair lost = new Pair();
    begin(lost);
    lost.server.lost(3, "of the test");
    assertEquals(before, LargeArrays.shared().lent());
  }

  @Test
  void theArrayOfAShortMessageIsLetGoWhenItWasTaken() {
    Output output = new Output(true);
    byte[] array = new byte[200 * KIB];
    output.bytes(array, 0, 10, false);
    output.free(array);
    assertEquals(10, output.take((bytes, offset, length, lasting) -> {}));
    List<byte[]> kept = new ArrayList<>();
    for (byte[] one = array; one != null; one = LargeArrays.shared().take(array.length)) {
      kept.add(one);
    }
    kept.remove(0);
    assertTrue(kept.stream().anyMatch(one -> one == array));
  }
}
