package io.trunkcall;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(90)
class HandlerPoolTest {
  private static final long PATIENCE = 60; // s

  private HandlerPool pool = new HandlerPool("test-", 100, PATIENCE);

  @AfterEach
  void end() {
    pool.shutdown();
  }

  @Test
  void tasksThatWaitForEachOtherAllGetAThread() throws Exception {
    CountDownLatch all = new CountDownLatch(100);
    CountDownLatch seen = new CountDownLatch(100);
    for (int i = 0; i < 100; i++) {
      pool.execute(
          () -> {
            all.countDown();
            await(all);
            seen.countDown();
          });
    }
    assertTrue(seen.await(PATIENCE, TimeUnit.SECONDS));
  }

  @Test
  void whatManyThreadsGiveIsAllRun() throws Exception {
    int threads = 4;
    int each = 20_000;
    CountDownLatch run = new CountDownLatch(threads * each);
    for (int i = 0; i < threads; i++) {
      Thread thread =
          new Thread(
              () -> {
                for (int n = 0; n < each; n++) {
                  pool.execute(run::countDown);
                }
              });
      thread.setDaemon(true);
      thread.start();
    }
    assertTrue(run.await(PATIENCE, TimeUnit.SECONDS), () -> run.getCount() + " were not run");
  }

  @Test
  void beyondTheMostThreadsTasksWait() throws Exception {
    pool = new HandlerPool("test-", 2, PATIENCE);
    CountDownLatch release = new CountDownLatch(1);
    CountDownLatch done = new CountDownLatch(10);
    AtomicInteger running = new AtomicInteger();
    AtomicInteger most = new AtomicInteger();
    for (int i = 0; i < 10; i++) {
      pool.execute(
          () -> {
            most.accumulateAndGet(running.incrementAndGet(), Math::max);
            await(release);
            running.decrementAndGet();
            done.countDown();
          });
    }
    release.countDown();
    assertTrue(done.await(PATIENCE, TimeUnit.SECONDS));
    assertTrue(most.get() <= 2, () -> most + " ran at once");
  }

  @Test
  void aThreadThatHasNothingToDoEnds() throws Exception {
    pool = new HandlerPool("test-", 2, 0);
    CompletableFuture<Thread> ran = new CompletableFuture<>();
    pool.execute(() -> ran.complete(Thread.currentThread()));
    Thread thread = ran.get(PATIENCE, TimeUnit.SECONDS);
    thread.join(TimeUnit.SECONDS.toMillis(PATIENCE));
    assertFalse(thread.isAlive());
    CountDownLatch again = new CountDownLatch(1);
    pool.execute(again::countDown);
    assertTrue(again.await(PATIENCE, TimeUnit.SECONDS));
  }

  @Test
  void whereTheSystemGivesNoMoreThreadsThoseThatRunTakeAll() throws Exception {
    AtomicInteger made = new AtomicInteger();
    pool =
        new HandlerPool(
            work -> made.getAndIncrement() == 0 ? daemon(work) : new Unstartable(), 10, PATIENCE);
    CountDownLatch release = new CountDownLatch(1);
    CountDownLatch done = new CountDownLatch(3);
    for (int i = 0; i < 3; i++) {
      pool.execute(
          () -> {
            await(release);
            done.countDown();
          });
    }
    release.countDown();
    assertTrue(done.await(PATIENCE, TimeUnit.SECONDS));
  }

  @Test
  void withoutAnyThreadATaskIsRefused() {
    pool = new HandlerPool(work -> new Unstartable(), 10, PATIENCE);
    assertThrows(RejectedExecutionException.class, () -> pool.execute(() -> {}));
  }

  @Test
  void noTaskIsLostWhereTheFirstThreadCannotBeStarted() throws Exception {
    CountDownLatch starting = new CountDownLatch(1);
    CountDownLatch fail = new CountDownLatch(1);
    Thread late =
        new Thread() {
          @Override
          public void start() {
            starting.countDown();
            HandlerPoolTest.await(fail);
            throw new OutOfMemoryError("unable to create native thread");
          }
        };
    AtomicInteger made = new AtomicInteger();
    pool =
        new HandlerPool(
            work -> made.getAndIncrement() == 0 ? late : new Unstartable(), 10, PATIENCE);
    CompletableFuture<Throwable> first = new CompletableFuture<>();
    execute(first);
    assertTrue(starting.await(PATIENCE, TimeUnit.SECONDS));
    CompletableFuture<Throwable> second = new CompletableFuture<>();
    Thread waits = execute(second);
    Pair.until(
        () -> second.isDone() || waits.getState() == Thread.State.WAITING,
        "the second waits for what becomes of the first");
    fail.countDown();
    assertInstanceOf(RejectedExecutionException.class, first.get(PATIENCE, TimeUnit.SECONDS));
    assertInstanceOf(RejectedExecutionException.class, second.get(PATIENCE, TimeUnit.SECONDS));
  }

  @Test
  void aThreadThatCannotBeMadeRefusesItsTaskAlone() throws Exception {
    AtomicInteger made = new AtomicInteger();
    pool =
        new HandlerPool(
            work -> {
              if (made.getAndIncrement() == 0) {
                throw new OutOfMemoryError("of the test");
              }
              return daemon(work);
            },
            10,
            PATIENCE);
    assertThrows(RejectedExecutionException.class, () -> pool.execute(() -> {}));
    CountDownLatch run = new CountDownLatch(1);
    pool.execute(run::countDown);
    assertTrue(run.await(PATIENCE, TimeUnit.SECONDS));
  }

  /** Hands over a task on a thread of its own; {@code thrown} is done with what that threw. */
  private Thread execute(CompletableFuture<Throwable> thrown) {
    Thread made =
        daemon(
            () -> {
              try {
                pool.execute(() -> {});
                thrown.complete(null);
              } catch (Throwable e) {
                thrown.complete(e);
              }
            });
    made.start();
    return made;
  }

  private static Thread daemon(Runnable work) {
    Thread thread = new Thread(work);
    thread.setDaemon(true);
    return thread;
  }

  private static final class Unstartable extends Thread {
    @Override
    public void start() {
      throw new OutOfMemoryError("unable to create native thread");
    }
  }

  @Test
  void whatOneTaskLeavesIsNotForTheNext() throws Exception {
    pool = new HandlerPool("test-", 1, PATIENCE);
    pool.execute(
        () -> {
          Thread.currentThread().interrupt();
          throw new IllegalStateException("of the test");
        });
    CompletableFuture<Boolean> interrupted = new CompletableFuture<>();
    pool.execute(() -> interrupted.complete(Thread.interrupted()));
    assertEquals(false, interrupted.get(PATIENCE, TimeUnit.SECONDS));
  }

  @Test
  void shutDownItEndsBehindWhatItWasGiven() throws Exception {
    pool = new HandlerPool("test-", 1, PATIENCE);
    CompletableFuture<Thread> thread = new CompletableFuture<>();
    CountDownLatch release = new CountDownLatch(1);
    CountDownLatch second = new CountDownLatch(1);
    pool.execute(
        () -> {
          thread.complete(Thread.currentThread());
          await(release);
        });
    pool.execute(second::countDown);
    pool.shutdown();
    assertThrows(RejectedExecutionException.class, () -> pool.execute(() -> {}));
    release.countDown();
    assertTrue(second.await(PATIENCE, TimeUnit.SECONDS));
    Thread ran = thread.get(PATIENCE, TimeUnit.SECONDS);
    ran.join(TimeUnit.SECONDS.toMillis(PATIENCE));
    assertFalse(ran.isAlive());
  }

  private static void await(CountDownLatch latch) {
    try {
      assertTrue(latch.await(PATIENCE, TimeUnit.SECONDS));
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
