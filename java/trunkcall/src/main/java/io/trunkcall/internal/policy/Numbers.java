package io.trunkcall.internal.policy;

import java.util.function.IntSupplier;

/** Times, in nanoseconds, and random numbers of 32 bits (policy.md 6). */
final class Numbers {
  static final long MILLISECOND = 1_000_000L;
  static final long SECOND = 1_000 * MILLISECOND;
  static final long MINUTE = 60 * SECOND;
  static final long HOUR = 60 * MINUTE;
  static final long LONGEST = 24 * HOUR; // that a measured duration may count

  private static final long LOW = 0xFFFF_FFFFL;

  private Numbers() {}

  /** A random part of x, which is not below 0. */
  static long part(long x, IntSupplier random) {
    long drawn = random.getAsInt() & LOW;
    // Both products fit 64 bits; the one product of x and the number need not.
    return (x >>> 32) * drawn + ((x & LOW) * drawn >>> 32);
  }

  /** Has times not go back. */
  static final class Latest {
    private long last;

    long at(long now) {
      last = Math.max(last, now);
      return last;
    }

    long last() {
      return last;
    }
  }
}
