package io.trunkcall.internal.policy;

import java.util.function.IntSupplier;
import java.util.function.LongSupplier;

/**
 * What cores are given: the time, and random numbers of 32 bits. Any thread.
 *
 * @param clock nanoseconds, not below 0, of a clock that does not jump
 */
public record Sources(LongSupplier clock, IntSupplier random) {
  /** The time. */
  public long now() {
    return clock.getAsLong();
  }
}
