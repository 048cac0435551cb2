package io.trunkcall.load;

import java.util.concurrent.TimeUnit;
import org.HdrHistogram.Histogram;

/**
 * The latencies of a window: a histogram for the percentiles, exact figures where they are free.
 */
final class Recorder {
  /** The top of the histogram, in nanoseconds; what takes longer is filed there. */
  private static final long LONGEST = TimeUnit.HOURS.toNanos(1);

  private final Histogram histogram = new Histogram(LONGEST, 3);
  private long count;
  private long sum;
  private long max;

  void add(long[] samples, int filled) {
    for (int i = 0; i < filled; i++) {
      long took = Math.max(samples[i], 0);
      count++;
      sum += took;
      max = Math.max(max, took);
      histogram.recordValue(Math.min(took, LONGEST));
    }
  }

  /** What both have seen. */
  static Recorder both(Recorder one, Recorder other) {
    Recorder all = new Recorder();
    for (Recorder each : new Recorder[] {one, other}) {
      all.histogram.add(each.histogram);
      all.count += each.count;
      all.sum += each.sum;
      all.max = Math.max(all.max, each.max);
    }
    return all;
  }

  long count() {
    return count;
  }

  double mean() {
    return count == 0 ? 0 : (double) sum / count;
  }

  long max() {
    return max;
  }

  /** Never above the maximum, although the histogram rounds up. */
  long percentile(double share) {
    return count == 0 ? 0 : Math.min(histogram.getValueAtPercentile(share), max);
  }
}
