package io.trunkcall.internal.policy;

import io.trunkcall.internal.policy.TripRules.Outcome;

/** Counts successes and failures, and says when the failures are too many (policy.md 10). */
final class Trip {
  private final TripRules rules;
  private final Window ends;
  private final Window failures;
  private long row;

  Trip(TripRules rules) {
    this.rules = rules;
    ends = new Window(rules.window());
    failures = new Window(rules.window());
  }

  void clear() {
    row = 0;
    ends.clear();
    failures.clear();
  }

  /** Counts an end. Whether there are too many failures. */
  boolean ended(long now, Outcome outcome) {
    if (outcome == Outcome.NEITHER) {
      return false;
    }
    ends.add(now, 1);
    if (outcome == Outcome.SUCCESS) {
      row = 0;
      return false;
    }
    failures.add(now, 1);
    row++;
    if (rules.consecutive() > 0 && row >= rules.consecutive()) {
      return true;
    }
    long all = ends.sum(now);
    return rules.percent() > 0
        && all >= rules.calls()
        && failures.sum(now) * 100 >= rules.percent() * all;
  }
}
