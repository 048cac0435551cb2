package io.trunkcall.load;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;

/**
 * One stretch of load, the warm-up or the measured part: what it counts and when it ends.
 *
 * <p>Callers take calls from it and note how long each took; {@code begin} and {@code end} frame
 * them. A caller keeps its times to itself until there are some, so that a call takes no lock.
 */
final class Window {
  /** A number that no run reaches. */
  private static final long UNBOUNDED = Long.MAX_VALUE;

  private final long total;
  private final long length;
  private final AtomicLong taken = new AtomicLong();

  // Written by one thread before the callers begin or after they have ended.
  private long start;
  private long nanos;
  private Duration cpu = Duration.ZERO;

  private final ReentrantLock lock = new ReentrantLock();
  // Guarded by the lock.
  private final Recorder answered = new Recorder();
  private final Recorder unanswered = new Recorder(); // calls that failed
  private long untimed;
  private long errors;
  private Throwable firstError;

  /** Zero for either is no bound. */
  Window(long calls, Duration duration) {
    total = calls > 0 ? calls : UNBOUNDED;
    length = duration.isZero() ? UNBOUNDED : duration.toNanos();
  }

  void begin() {
    cpu = processCpu();
    start = System.nanoTime();
  }

  void end() {
    nanos = now();
    cpu = processCpu().minus(cpu);
  }

  /** User and system time of this process, of threads that have ended too. */
  private static Duration processCpu() {
    return ProcessHandle.current().info().totalCpuDuration().orElse(Duration.ZERO);
  }

  /** Nanoseconds since the beginning. */
  long now() {
    return System.nanoTime() - start;
  }

  /** Whether there is one more call to be made. */
  boolean take() {
    return total == UNBOUNDED || number() < total;
  }

  /** The number of the next call that nobody has taken. */
  long number() {
    return taken.getAndIncrement();
  }

  long total() {
    return total;
  }

  boolean over(long now) {
    return now >= length;
  }

  /** The times of one caller that it has not handed in yet. Used by one thread at a time. */
  final class Samples {
    private final long[] pending = new long[128];
    private int filled;

    /** Notes how a call ended and how long it took; returns whether it failed. */
    boolean note(long took, Throwable failure) {
      if (failure instanceof Untimed) {
        untimed();
        return false;
      }
      if (failure != null) {
        failed(took, failure);
        return true;
      }
      pending[filled++] = took;
      if (filled == pending.length) {
        handIn();
      }
      return false;
    }

    void handIn() {
      lock.lock();
      try {
        answered.add(pending, filled);
      } finally {
        lock.unlock();
      }
      filled = 0;
    }
  }

  private void untimed() {
    lock.lock();
    untimed++;
    lock.unlock();
  }

  private void failed(long took, Throwable failure) {
    lock.lock();
    unanswered.add(new long[] {took}, 1);
    errors++;
    if (firstError == null) {
      firstError = failure; // others would keep what their calls had in memory
    }
    lock.unlock();
  }

  /** Null without one. For when the window has ended. */
  Throwable firstError() {
    return firstError;
  }

  /** For when the window has ended. */
  Result result() {
    return Result.of(answered, unanswered, untimed, errors, firstError, nanos, cpu.toNanos());
  }
}
