package io.trunkcall.internal.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.logging.Logger;
import org.junit.jupiter.api.Test;

/** When connections of a loop are written, without a loop. */
class FlushesTest {
  private final Flushes flushes = new Flushes();
  private final List<String> log = new ArrayList<>();

  /** Whether it is the first. */
  private boolean add(String name) {
    boolean first = flushes.isEmpty();
    flushes.add(() -> log.add(name));
    return first;
  }

  /** The sockets are looked at, and something has come. */
  private boolean putOff(long now) {
    boolean put = flushes.putOff(now);
    assertEquals(put, flushes.isPutOff());
    if (put) {
      flushes.looked(true);
    }
    return put;
  }

  @Test
  void oneConnectionIsWrittenAtOnce() {
    assertTrue(add("a"));
    assertFalse(putOff(0));
    flushes.flush();
    assertEquals(List.of("a"), log);
  }

  @Test
  void severalArePutOffForAFewLooks() {
    add("a");
    assertFalse(add("b"));
    for (int i = 0; i < Flushes.LOOKS; i++) {
      assertTrue(putOff(i));
      assertFalse(add("c" + i));
    }
    assertFalse(putOff(Flushes.LOOKS));
    flushes.flush();
    assertEquals(List.of("a", "b", "c0", "c1", "c2", "c3"), log);
    assertTrue(add("d"));
    add("e");
    assertTrue(putOff(Flushes.LOOKS), "what is written next is put off anew");
  }

  @Test
  void theyArePutOffForAMomentOnly() {
    add("a");
    add("b");
    assertTrue(putOff(-5));
    assertTrue(putOff(Flushes.MOMENT - 5));
    assertFalse(putOff(Flushes.MOMENT - 4));
  }

  @Test
  void aLookInVainIsTheLast() {
    add("a");
    add("b");
    assertTrue(flushes.putOff(0));
    flushes.looked(false);
    assertFalse(putOff(0));
  }

  @Test
  void oneThatFailsDoesNotKeepTheOthersFromBeingWritten() {
    flushes.add(
        () -> {
          throw new OutOfMemoryError("thrown by a connection, for a test");
        });
    add("b");
    flushes.flush();
    assertEquals(List.of("b"), log);
    assertTrue(add("c"), "nothing is left of them");
  }

  @Test
  void oneWhoseFailureCannotBeLoggedDoesNotEither() {
    Logger logger = Logger.getLogger("io.trunkcall");
    logger.setFilter(
        record -> {
          throw new IllegalStateException("thrown by a filter, for a test");
        });
    try {
      oneThatFailsDoesNotKeepTheOthersFromBeingWritten();
    } finally {
      logger.setFilter(null);
    }
    flushes.flush();
    assertEquals(List.of("b", "c"), log);
  }

  @Test
  void whatIsAddedMeanwhileIsWrittenNext() {
    flushes.add(() -> assertTrue(add("b")));
    flushes.flush();
    assertEquals(List.of(), log);
    flushes.flush();
    assertEquals(List.of("b"), log);
  }
}
