package io.trunkcall.internal.transport;

import java.time.Duration;
import java.util.Comparator;
import java.util.PriorityQueue;
import java.util.function.BooleanSupplier;

/** A loop on which time passes at once, when the test says so. Used by the test's thread only. */
public final class VirtualClockwork implements Clockwork {
  private static final Comparator<Due> IN_ORDER =
      Comparator.comparingLong((Due one) -> one.at).thenComparingLong(one -> one.number);

  private final PriorityQueue<Due> waiting = new PriorityQueue<>(IN_ORDER);
  private long now = Duration.ofHours(1).toNanos();
  private final long began = now;
  private long ever;

  private static final class Due implements Timer {
    final long at;
    final long number;
    final Runnable work;
    boolean cancelled;

    Due(long at, long number, Runnable work) {
      this.at = at;
      this.number = number;
      this.work = work;
    }

    @Override
    public void cancel() {
      cancelled = true;
    }
  }

  @Override
  public long nanos() {
    return now;
  }

  /** Milliseconds since it was made. */
  public long millis() {
    return Duration.ofNanos(now - began).toMillis();
  }

  @Override
  public void execute(Runnable work) {
    waiting.add(new Due(now, ever++, work));
  }

  @Override
  public Timer after(Duration time, Runnable work) {
    Due due = new Due(now + time.toNanos(), ever++, work);
    waiting.add(due);
    return due;
  }

  /** Does what is due. */
  public void settle() {
    advance(Duration.ZERO);
  }

  /** Has time pass, and does what becomes due. */
  public void advance(Duration time) {
    long until = now + time.toNanos();
    while (!waiting.isEmpty() && waiting.peek().at <= until) {
      next();
    }
    now = until;
  }

  /** Has time pass until something holds, at most for so long; whether it does. */
  public boolean advanceUntil(BooleanSupplier holds, Duration atMost) {
    long until = now + atMost.toNanos();
    while (!holds.getAsBoolean()) {
      if (waiting.isEmpty() || waiting.peek().at > until) {
        now = until;
        return false;
      }
      next();
    }
    return true;
  }

  private void next() {
    Due due = waiting.remove();
    if (!due.cancelled) {
      now = Math.max(now, due.at);
      due.work.run();
    }
  }
}
