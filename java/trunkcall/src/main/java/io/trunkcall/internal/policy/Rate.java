package io.trunkcall.internal.policy;

import io.trunkcall.Priority;

/** Bounds how many calls begin in a time (policy.md 12). Its bucket is full at first. */
public final class Rate {
  private static final long CALL = 1_000_000_000L; // what one takes of the bucket

  private final RateRules rules;
  private final Numbers.Latest clock = new Numbers.Latest();
  private long level;

  /** Made by rules. */
  public Rate(RateRules rules) {
    this.rules = rules;
    level = rules.burst() * CALL;
  }

  /** 0 if a call may begin, else how long to wait before one may. */
  public long take(long now, Priority priority) {
    long last = clock.last();
    long passed = clock.at(now) - last;
    long full = rules.burst() * CALL;
    level = passed > (full - level) / rules.perSecond() ? full : level + passed * rules.perSecond();
    long kept = (rules.burst() - rules.shares().of(rules.burst(), priority)) * CALL;
    long missing = CALL + kept - level;
    if (missing > 0) {
      return (missing + rules.perSecond() - 1) / rules.perSecond();
    }
    level -= CALL;
    return 0;
  }
}
