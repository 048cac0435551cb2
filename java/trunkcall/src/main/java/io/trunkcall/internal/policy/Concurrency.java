package io.trunkcall.internal.policy;

import io.trunkcall.Code;
import io.trunkcall.Delivery;
import io.trunkcall.Priority;
import java.util.function.IntSupplier;
import org.jspecify.annotations.Nullable;

/** Bounds how many calls run at once (policy.md 13). */
public final class Concurrency {
  private static final long MOST_SAMPLES = 10_000; // of a window that are summed

  /** What the end of a call says of the limit that it was under. */
  public enum Sample {
    NONE,
    MEASURED,
    OVERLOAD;

    /** What it is of a stream: how long that stays open says nothing of capacity. */
    public Sample ofStream() {
      return this == MEASURED ? NONE : this;
    }

    /** What it says that a call ended so. */
    public static Sample of(Ended end) {
      if (end.delivery() == Delivery.NOT_SENT || end.code() == Code.CANCELLED) {
        return NONE;
      }
      return switch (end.code()) {
        case RESOURCE_EXHAUSTED, UNAVAILABLE, DEADLINE_EXCEEDED -> OVERLOAD;
        // If no handler ran, it says nothing of capacity.
        default -> end.delivery() == Delivery.REFUSED ? NONE : MEASURED;
      };
    }
  }

  private final ConcurrencyRules rules;
  private final Numbers.Latest clock = new Numbers.Latest();
  private long calls;
  private long limit; // thousandths

  // Of an adaptive limit:
  private long base; // the duration of a call without a queue; 0: not measured yet
  private boolean measuring;
  private long since; // it measures
  private long again; // when it is to measure again

  private long begin = -1; // of the window; -1: it has none
  private long sum;
  private long count;
  private long overloads;
  private long peak;

  /** Made by rules. */
  public Concurrency(ConcurrencyRules rules) {
    this.rules = rules;
    ConcurrencyRules.@Nullable Adaptive adaptive = rules.adaptive();
    measuring = adaptive != null;
    limit = (adaptive == null ? rules.limit() : adaptive.start()) * 1_000;
  }

  /** The limit, in thousandths. */
  public long limit() {
    return limit;
  }

  /** How many calls may run at once now. */
  private long inForce() {
    ConcurrencyRules.@Nullable Adaptive adaptive = rules.adaptive();
    return adaptive != null && measuring && base > 0
        ? Math.max(adaptive.least() * 1_000, limit / 2) / 1_000
        : limit / 1_000;
  }

  /** Whether a call may run. If so, {@link #leave} is to be told of its end. */
  public boolean enter(long now, Priority priority) {
    clock.at(now);
    if (calls >= rules.shares().of(inForce(), priority)) {
      return false;
    }
    calls++;
    peak = Math.max(peak, calls);
    return true;
  }

  /** Tells that a call has ended, and after how long. Draws a number where a measurement ends. */
  public void leave(long time, long duration, Sample sample, IntSupplier random) {
    long now = clock.at(time);
    calls--;
    long took = Math.min(Math.max(duration, 0), Numbers.LONGEST);
    ConcurrencyRules.@Nullable Adaptive adaptive = rules.adaptive();
    boolean early = measuring && now - took < since;
    if (adaptive == null || sample == Sample.NONE || early) {
      return;
    }
    begin = begin < 0 ? now : begin;
    if (sample == Sample.OVERLOAD) {
      overloads++;
    } else if (count < MOST_SAMPLES) {
      sum += took;
      count++;
    }
    if (now >= begin + adaptive.window() && count + overloads >= adaptive.samples()) {
      adapt(adaptive, now, random);
    }
  }

  /** Closes the window. */
  private void adapt(ConcurrencyRules.Adaptive adaptive, long now, IntSupplier random) {
    long mean = Math.max(1, sum / Math.max(1, count));
    if (overloads * 10 >= count + overloads) {
      limit = limit * 9 / 10;
    } else if (measuring) {
      base = mean;
      measuring = false;
      again = now + adaptive.remeasure() + Numbers.part(adaptive.remeasure() / 5, random);
    } else {
      follow(adaptive, mean);
      if (now >= again) {
        measuring = true;
        since = now;
      }
    }
    limit = Math.min(Math.max(limit, adaptive.least() * 1_000), adaptive.most() * 1_000);
    begin = -1;
    sum = 0;
    count = 0;
    overloads = 0;
    peak = calls;
  }

  /** Moves the limit as the mean duration of the window tells. */
  private void follow(ConcurrencyRules.Adaptive adaptive, long mean) {
    long gradient = Math.min(Math.max(base * adaptive.tolerance() * 10 / mean, 500), 1_000);
    long target = limit * gradient / 1_000 + 1_000 * root(limit / 1_000);
    if (target > limit && peak * 2 < limit / 1_000) {
      target = limit;
    }
    limit = (limit * 4 + target) / 5;
    base = Math.min(base, mean);
  }

  /** The square root of a number below 2^52, rounded down. */
  private static long root(long number) {
    long root = (long) Math.sqrt(number);
    return root * root > number ? root - 1 : root;
  }
}
