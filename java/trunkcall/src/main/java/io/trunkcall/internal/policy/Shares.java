package io.trunkcall.internal.policy;

import io.trunkcall.Priority;

/** What calls of each priority may fill of a limit, in percent (policy.md 7). */
public record Shares(long critical, long high, long normal, long low) {
  static final Shares DEFAULT = new Shares(100, 100, 100, 50);

  /** In percent. */
  public long percent(Priority priority) {
    return switch (priority) {
      case CRITICAL -> critical;
      case HIGH -> high;
      case NORMAL -> normal;
      case LOW -> low;
    };
  }

  /** The part of a limit that a priority may fill. */
  long of(long limit, Priority priority) {
    return Math.max(1, limit * percent(priority) / 100);
  }

  boolean crossed() {
    return critical < high || high < normal || normal < low;
  }
}
