package io.trunkcall;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What observers are told, one after the other. */
@Timeout(120)
final class SequenceTest {
  private static final long NEVER = TimeUnit.HOURS.toNanos(1); // in this test

  @Test
  void oneThatRestsTellsInOrderWhatComesMeanwhile() {
    Sequence sequence = new Sequence("it threw", TimeUnit.MILLISECONDS.toNanos(1));
    List<Integer> told = Collections.synchronizedList(new ArrayList<>());
    List<Integer> wanted = IntStream.range(0, 1_000).boxed().toList();
    for (int i : wanted) {
      CompletableFuture<Thread> before = new CompletableFuture<>();
      assertTrue(sequence.add(() -> before.complete(Thread.currentThread())));
      Pair.await(before); // it has run all there is, and may rest
      assertTrue(sequence.add(() -> told.add(i)));
    }
    Pair.until(() -> told.size() == wanted.size(), "not all was told");
    assertEquals(wanted, told);
  }

  @Test
  void oneThatRestsIsWokenForMany() {
    Sequence sequence = new Sequence("it threw", NEVER);
    CompletableFuture<Thread> first = new CompletableFuture<>();
    CompletableFuture<Thread> later = new CompletableFuture<>();
    assertTrue(sequence.add(() -> first.complete(Thread.currentThread())));
    Thread thread = Pair.await(first);
    for (int i = 0; i < Sequence.LONGEST / 2; i++) {
      assertTrue(sequence.add(() -> later.complete(Thread.currentThread())));
    }
    assertSame(thread, Pair.await(later));
    LockSupport.unpark(thread); // which rests again
  }

  @Test
  void whatThrowsDelaysNothingBehindIt() {
    Sequence sequence = new Sequence("it threw", 0);
    CompletableFuture<Integer> told = new CompletableFuture<>();
    assertTrue(
        sequence.add(
            () -> {
              throw new IllegalStateException("of the test");
            }));
    assertTrue(sequence.add(() -> told.complete(7)));
    assertEquals(7, Pair.await(told));
  }
}
