package io.trunkcall.internal.client;

import java.time.Duration;
import java.util.random.RandomGenerator;

/** The pauses before something that has failed is tried again (limits.md 3). */
public final class Backoff {
  private static final long FIRST = 100; // ms, doubled with each failure in a row
  private static final long LAST = 10_000;

  private Backoff() {}

  /** The longest pause after so many failures in a row, at least one. */
  static Duration longest(int failures) {
    return Duration.ofMillis(Math.min(FIRST << Math.min(failures - 1, 10), LAST));
  }

  /** A random part of the longest one, so that many do not try at the same moment. */
  public static Duration pause(int failures, RandomGenerator random) {
    return Duration.ofNanos(random.nextLong(longest(failures).toNanos() + 1));
  }
}
