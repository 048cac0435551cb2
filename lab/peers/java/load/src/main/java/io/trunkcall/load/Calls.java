package io.trunkcall.load;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CyclicBarrier;

/** What callers do, one call function for each of them; and what ends when they have done it. */
public final class Calls implements AutoCloseable {
  /** Lets all callers make calls in a window, and returns when they have ended. */
  private interface Loop {
    void run(Window window) throws InterruptedException;
  }

  private final List<Call> blocking;
  private final Loop closedLoop;
  private final List<AutoCloseable> closing;

  private Calls(List<Call> blocking, Loop closedLoop, List<? extends AutoCloseable> closing) {
    this.blocking = blocking;
    this.closedLoop = closedLoop;
    this.closing = List.copyOf(closing);
  }

  /** Each call function runs in a thread of its own. */
  public static Calls blocking(List<? extends Call> calls, List<? extends AutoCloseable> closing) {
    List<Call> all = List.copyOf(calls);
    return new Calls(all, window -> inThreads(window, all, BlockingCaller::closedLoop), closing);
  }

  /** No thread waits for calls in the closed loop; in the open loop one for each caller does. */
  public static Calls async(
      List<? extends AsyncCall> calls, List<? extends AutoCloseable> closing) {
    List<AsyncCall> all = List.copyOf(calls);
    return new Calls(
        all.stream().map(AsyncCall::waiting).toList(), window -> together(window, all), closing);
  }

  /** Warms up, and measures. Throws Failed if the warm-up fails. */
  public Result run(Config config) throws Failed, InterruptedException {
    if (!config.warmup().isZero()) {
      Window warm = new Window(config.warmupCalls(), config.warmup());
      closedLoop.run(warm);
      if (warm.firstError() != null) {
        throw new Failed("in the warm-up: " + Failed.told(warm.firstError()), warm.firstError());
      }
    }
    if (config.rate() <= 0) {
      Window window = new Window(config.calls(), config.duration());
      closedLoop.run(window);
      return window.result();
    }
    double seconds = config.duration().toNanos() / 1e9;
    // All calls that are due in that time are made, however long it takes.
    long total =
        config.calls() > 0 ? config.calls() : Math.max((long) (config.rate() * seconds), 1);
    Window window = new Window(total, Duration.ZERO);
    inThreads(window, blocking, caller -> caller.openLoop(config.rate()));
    return window.result();
  }

  /** Ends what the call functions used, without waiting for it. */
  @Override
  public void close() throws Exception {
    for (AutoCloseable each : closing) {
      each.close();
    }
  }

  private interface Caller {
    void run(BlockingCaller caller);
  }

  private static void inThreads(Window window, List<Call> calls, Caller loop)
      throws InterruptedException {
    // The threads stand ready before the clock starts.
    CyclicBarrier gate = new CyclicBarrier(calls.size(), window::begin);
    List<Thread> threads = new ArrayList<>();
    for (Call call : calls) {
      BlockingCaller caller = new BlockingCaller(call, window);
      Thread thread =
          new Thread(
              () -> {
                await(gate);
                loop.run(caller);
              },
              "caller-" + threads.size());
      thread.setDaemon(true);
      thread.start();
      threads.add(thread);
    }
    for (Thread thread : threads) {
      thread.join();
    }
    window.end();
  }

  private static void await(CyclicBarrier gate) {
    try {
      gate.await();
    } catch (InterruptedException | BrokenBarrierException e) {
      throw new IllegalStateException("a caller was interrupted before it began", e);
    }
  }

  private static void together(Window window, List<AsyncCall> calls) throws InterruptedException {
    List<AsyncCaller> callers = calls.stream().map(call -> new AsyncCaller(call, window)).toList();
    window.begin();
    callers.forEach(AsyncCaller::begin);
    for (AsyncCaller caller : callers) {
      caller.await();
    }
    window.end();
  }
}
