package io.trunkcall.internal.client;

import io.trunkcall.Code;
import io.trunkcall.Delivery;
import io.trunkcall.Kind;
import io.trunkcall.Status;

/**
 * The moving latency of an endpoint (client.md 10.9). Times are nanoseconds of a clock that does
 * not jump. One thread adds samples; any may look.
 */
final class MovingLatency {
  private static final long SPAN = 10_000_000_000L; // the time constant; how long a sample counts
  private static final long LEAST = 1_000_000_000L; // what a failure for overload counts as

  private volatile double mean = Double.NaN; // NaN: there was no sample
  private long first; // when the first sample came; the adding thread's
  private volatile long last; // when the last one came

  /** The latency; NaN while there is none. */
  double at(long now) {
    return now - last > SPAN ? Double.NaN : mean;
  }

  /** A call has ended. */
  void ended(Kind kind, Status status, long duration, long now) {
    double sample = sample(kind, status, duration, now);
    if (Double.isNaN(sample)) {
      return;
    }
    double before = mean;
    long since = now - last;
    if (Double.isNaN(before) || since > SPAN) {
      first = now;
      mean = sample;
      last = now;
    } else if (since > 0) { // else it stands for no time
      long age = Math.min(SPAN, last - first);
      mean = before + (sample - before) * since / (age + since);
      last = now;
    }
  }

  /** What a call says of the endpoint; NaN: nothing. */
  private double sample(Kind kind, Status status, long duration, long now) {
    if (status.local() && status.delivery() == Delivery.NOT_SENT) {
      return Double.NaN;
    }
    Code code = status.code();
    if (code == Code.UNAVAILABLE || code == Code.RESOURCE_EXHAUSTED) {
      return kind == Kind.UNARY ? Math.max(duration, LEAST) : LEAST;
    }
    if (kind != Kind.UNARY) {
      return Double.NaN;
    }
    if (code == Code.CANCELLED || code == Code.DEADLINE_EXCEEDED) {
      return duration <= at(now) ? Double.NaN : duration; // it would have taken longer
    }
    return duration;
  }
}
