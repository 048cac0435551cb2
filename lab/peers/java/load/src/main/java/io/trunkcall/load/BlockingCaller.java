package io.trunkcall.load;

import java.util.concurrent.locks.LockSupport;

/** Makes calls in a thread of its own. */
final class BlockingCaller {
  /**
   * Keeps a caller whose calls fail at once from doing nothing but fail: a run against a dead
   * server stays cheap.
   */
  static final long ERROR_PAUSE_MILLIS = 10;

  private final Call call;
  private final Window window;
  private final Window.Samples samples;

  BlockingCaller(Call call, Window window) {
    this.call = call;
    this.window = window;
    this.samples = window.new Samples();
  }

  /**
   * Calls back to back: capacity. The end of one call is the start of the next, so the clock is
   * read once for each.
   */
  void closedLoop() {
    long last = window.now();
    while (window.take()) {
      Throwable failure = attempt();
      if (failure instanceof Stopped) {
        break;
      }
      long now = window.now();
      boolean failed = samples.note(now - last, failure);
      last = now;
      if (window.over(now)) {
        break;
      }
      if (failed) {
        LockSupport.parkNanos(ERROR_PAUSE_MILLIS * 1_000_000);
        last = window.now();
      }
    }
    samples.handIn();
  }

  /**
   * Calls at a fixed rate: latency. Whoever is free takes the next call that nobody has taken, and
   * waits until it is due. A call that falls due while all callers are busy waits for one of them,
   * and its wait is part of its time.
   */
  void openLoop(double rate) {
    for (long number = window.number(); number < window.total(); number = window.number()) {
      // Computed from the start each time: adding up a rounded interval drifts.
      long due = (long) (number / rate * 1e9);
      for (long early = due - window.now(); early > 0; early = due - window.now()) {
        LockSupport.parkNanos(early);
      }
      Throwable failure = attempt();
      if (failure instanceof Stopped) {
        break;
      }
      samples.note(window.now() - due, failure);
    }
    samples.handIn();
  }

  private Throwable attempt() {
    try {
      call.make();
      return null;
    } catch (Throwable e) {
      return e;
    }
  }
}
