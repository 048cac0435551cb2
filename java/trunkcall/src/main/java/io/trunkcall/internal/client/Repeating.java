package io.trunkcall.internal.client;

import io.trunkcall.Code;
import io.trunkcall.Delivery;
import io.trunkcall.Status;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Which calls are made again, and the budget of all repetitions of one client or server, so that
 * overload is not doubled by asking twice (client.md 2). Times are nanoseconds of a clock that does
 * not jump. Any thread may use it; the lock is held for a moment and never while another is taken.
 *
 * <p>Calls are only counted. When they were made is known from the moments at which somebody asked;
 * between two of those they are taken to be spread evenly.
 */
public final class Repeating {
  private static final long SECOND = 1_000_000_000L;
  private static final long SPAN = 10 * SECOND; // what counts as recent
  private static final int LEAST = 100; // repetitions in that time that are always allowed
  private static final int SHARE = 10; // beyond those, one for so many calls
  private static final long LONGEST_PAUSE = SECOND; // that a refused call waits

  private final LongAdder calls = new LongAdder(); // ever begun
  private final ReentrantLock lock = new ReentrantLock();
  private final Deque<Long> repeated = new ArrayDeque<>(); // when; the last SPAN of them
  private final List<Asked> asked = new ArrayList<>(); // one for each second of the last SPAN

  private record Asked(long at, long calls) {}

  /** A budget of calls that begin from now on. */
  public Repeating(long now) {
    asked.add(new Asked(now, 0));
  }

  /** A call has begun. */
  public void counted() {
    calls.increment();
  }

  /** Whether a call may be repeated now; if so, it counts. */
  public boolean take(long now) {
    lock.lock();
    try {
      while (!repeated.isEmpty() && now - repeated.getFirst() >= SPAN) {
        repeated.removeFirst();
      }
      boolean allowed = repeated.size() < Math.max(LEAST, recent(now) / SHARE);
      if (allowed) {
        repeated.addLast(now);
      }
      return allowed;
    } finally {
      lock.unlock();
    }
  }

  /** How many calls were begun within the last SPAN. */
  private long recent(long now) {
    long ever = calls.sum();
    if (now - asked.get(asked.size() - 1).at >= SECOND) {
      asked.add(new Asked(now, ever));
    }
    while (asked.size() > 1 && now - asked.get(1).at >= SPAN) {
      asked.remove(0);
    }
    Asked oldest = asked.get(0);
    long since = now - oldest.at;
    long made = ever - oldest.calls;
    return since <= SPAN ? made : (long) (made * ((double) SPAN / since));
  }

  /**
   * How long a call waits before it is made once more, in nanoseconds, 0: not at all; -1: it is not
   * made again (2.2, 2.3). The call is unary or one-way, and {@code status} that of its first
   * attempt.
   *
   * @param left until its deadline; Long.MAX_VALUE if it has none
   * @param elsewhere whether there are several connections or endpoints
   */
  public static long pause(Status status, long left, boolean elsewhere) {
    Code code = status.code();
    boolean refused =
        status.delivery() == Delivery.REFUSED
            && !status.retryAfter().isZero()
            && (code == Code.UNAVAILABLE || code == Code.RESOURCE_EXHAUSTED);
    boolean unsent = status.delivery() == Delivery.NOT_SENT && code == Code.UNAVAILABLE;
    if (!refused && !unsent) {
      return -1;
    }
    if (unsent || (elsewhere && code == Code.UNAVAILABLE)) {
      return left > 0 ? 0 : -1;
    }
    if (status.retryAfter().toSeconds() > 1) {
      return -1;
    }
    long wait = status.retryAfter().toNanos();
    return wait <= LONGEST_PAUSE && wait < left ? wait : -1;
  }
}
