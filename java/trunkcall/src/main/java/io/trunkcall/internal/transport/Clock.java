package io.trunkcall.internal.transport;

/** The time of all sessions. */
public final class Clock {
  /** No time at all: later than every other one. */
  public static final long NEVER = 1L << 62;

  private static final long ORIGIN = System.nanoTime() - 1_000_000_000L;

  private Clock() {}

  /** Nanoseconds of a clock that does not jump. Above 0. */
  public static long nanos() {
    return System.nanoTime() - ORIGIN;
  }

  /** Microseconds of a clock that does not jump. Above 0. */
  public static long micros() {
    return nanos() / 1_000;
  }
}
