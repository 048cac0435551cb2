package io.trunkcall.load;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** All kinds of callers: what is counted, and when it ends. */
class LoadTest {
  private final ExecutorService elsewhere = Executors.newSingleThreadExecutor();

  @AfterEach
  void end() {
    elsewhere.shutdownNow();
  }

  private static Config calls(long calls) {
    return new Config(calls, Duration.ZERO, 0, Duration.ZERO, 0);
  }

  /** Blocking, asynchronous with an end before start returns, and with one on another thread. */
  private List<Calls> kinds(int callers, Call call) {
    AsyncCall atOnce = ended -> ended.ended(failure(call));
    AsyncCall later = ended -> elsewhere.execute(() -> ended.ended(failure(call)));
    return List.of(
        Calls.blocking(Collections.nCopies(callers, call), List.of()),
        Calls.async(Collections.nCopies(callers, atOnce), List.of()),
        Calls.async(Collections.nCopies(callers, later), List.of()));
  }

  private static Throwable failure(Call call) {
    try {
      call.make();
      return null;
    } catch (Exception e) {
      return e;
    }
  }

  @Test
  void asManyCallsAreMadeAsWereAskedFor() throws Exception {
    AtomicInteger made = new AtomicInteger();
    for (Calls kind : kinds(3, made::incrementAndGet)) {
      made.set(0);
      Result result = kind.run(calls(100));
      assertEquals(100, made.get());
      assertEquals(100, result.calls());
      assertEquals(0, result.errors());
      assertNull(result.firstError());
    }
  }

  @Test
  void callsThatEndAtOnceDoNotFillTheStack() throws Exception {
    for (Calls kind : kinds(1, () -> {})) {
      assertEquals(1_000_000, kind.run(calls(1_000_000)).calls());
    }
  }

  @Test
  void theWarmupIsNotCounted() throws Exception {
    AtomicInteger made = new AtomicInteger();
    for (Calls kind : kinds(3, made::incrementAndGet)) {
      made.set(0);
      Result result = kind.run(new Config(10, Duration.ZERO, 0, Duration.ofMinutes(1), 7));
      assertEquals(17, made.get());
      assertEquals(10, result.calls());
    }
  }

  @Test
  void aFailureIsCountedAndDoesNotEndTheRun() throws Exception {
    AtomicInteger made = new AtomicInteger();
    Call call =
        () -> {
          if (made.incrementAndGet() == 3) {
            throw new IllegalStateException("that one");
          }
        };
    for (Calls kind : kinds(2, call)) {
      made.set(0);
      Result result = kind.run(calls(10));
      assertEquals(10, result.calls());
      assertEquals(1, result.errors());
      assertEquals("that one", result.firstError().getMessage());
    }
  }

  @Test
  void aCallThatCannotBeBegunIsAFailure() throws Exception {
    AsyncCall call =
        ended -> {
          throw new IllegalStateException("not today");
        };
    Result result = Calls.async(List.of(call), List.of()).run(calls(2));
    assertEquals(2, result.calls());
    assertEquals(2, result.errors());
  }

  @Test
  void aFailureInTheWarmupIsTheEnd() {
    Call call =
        () -> {
          throw new IllegalStateException("not\n today");
        };
    Config config = new Config(10, Duration.ZERO, 0, Duration.ofMinutes(1), 2);
    for (Calls kind : kinds(2, call)) {
      Failed failed = assertThrows(Failed.class, () -> kind.run(config));
      assertEquals("in the warm-up: IllegalStateException: not; today", failed.getMessage());
    }
  }

  @Test
  void untimedCallsCountAndAreInNoLatency() throws Exception {
    Call call =
        () -> {
          throw Untimed.INSTANCE;
        };
    for (Calls kind : kinds(2, call)) {
      Result result = kind.run(calls(5));
      assertEquals(5, result.calls());
      assertEquals(0, result.errors());
      assertEquals(0, result.max());
    }
  }

  @Test
  void aCallerThatIsStoppedMakesNoMoreCalls() throws Exception {
    AtomicInteger made = new AtomicInteger();
    Call call =
        () -> {
          if (made.incrementAndGet() > 4) {
            throw Stopped.INSTANCE;
          }
        };
    for (Calls kind : kinds(2, call)) {
      made.set(0);
      assertEquals(4, kind.run(calls(1000)).calls());
    }
  }

  @Test
  void aDurationEndsTheRun() throws Exception {
    AtomicInteger made = new AtomicInteger();
    Config config = new Config(0, Duration.ofMillis(20), 0, Duration.ZERO, 0);
    for (Calls kind : kinds(2, made::incrementAndGet)) {
      made.set(0);
      Result result = kind.run(config);
      assertEquals(made.get(), result.calls());
      assertTrue(result.seconds() >= 0.02);
    }
  }

  @Test
  void aFixedRateMakesTheCallsThatAreDueAndNoneEarlier() throws Exception {
    AtomicInteger made = new AtomicInteger();
    Config config = new Config(0, Duration.ofMillis(50), 2000, Duration.ZERO, 0);
    for (Calls kind : kinds(4, made::incrementAndGet)) {
      made.set(0);
      Result result = kind.run(config);
      assertEquals(100, made.get());
      assertEquals(100, result.calls());
      assertTrue(result.seconds() >= 99 / 2000.0);
    }
  }

  @Test
  void aLateCallIsTimedFromWhenItWasDue() throws Exception {
    // One caller that gets through only when the second call has been due for long.
    CountDownLatch never = new CountDownLatch(1);
    AtomicInteger made = new AtomicInteger();
    Call call =
        () -> {
          if (made.getAndIncrement() == 0) {
            never.await(50, TimeUnit.MILLISECONDS);
          }
        };
    Result result =
        Calls.blocking(List.of(call), List.of())
            .run(new Config(2, Duration.ZERO, 1000, Duration.ZERO, 0));
    assertTrue(result.max() >= 50_000);
    assertTrue(result.mean() >= 49_000);
  }

  @Test
  void whatCallsUsedIsEndedWithThem() throws Exception {
    AtomicInteger closed = new AtomicInteger();
    Calls.blocking(List.of(), List.of(closed::incrementAndGet)).close();
    assertEquals(1, closed.get());
  }

  @Test
  void aStreamIsAskedForOneMessageForEachThatWasTaken() {
    AtomicInteger asked = new AtomicInteger();
    AtomicInteger taken = new AtomicInteger();
    Receipts receipts = new Receipts(asked::incrementAndGet);
    receipts.start(failure -> taken.incrementAndGet());
    assertEquals(0, taken.get());
    receipts.arrived();
    receipts.arrived();
    assertEquals(1, taken.get());
    assertEquals(1, asked.get());
    receipts.start(failure -> taken.incrementAndGet());
    assertEquals(2, taken.get());
    assertEquals(2, asked.get());
    Throwable[] how = new Throwable[2];
    receipts.start(failure -> how[0] = failure);
    receipts.failed(new IllegalStateException("over"));
    receipts.start(failure -> how[1] = failure);
    assertEquals("over", how[0].getMessage());
    assertEquals("over", how[1].getMessage());
  }
}
