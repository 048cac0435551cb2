package io.trunkcall.internal.policy;

/**
 * Bounds all repetitions and hedges of a client (policy.md 8.1). Nothing of it is used at first.
 */
public final class Budget {
  private static final long SECONDS = 10;

  private final BudgetRules rules;
  private final Numbers.Latest clock = new Numbers.Latest();
  private final Window calls = new Window(SECONDS * Numbers.SECOND);
  private final Window repeated = new Window(SECONDS * Numbers.SECOND);

  /** Made by rules. */
  public Budget(BudgetRules rules) {
    this.rules = rules;
  }

  /** Counts calls. */
  public void made(long now, long count) {
    calls.add(clock.at(now), count);
  }

  /** Whether one more attempt is allowed; if so, it counts. */
  public boolean take(long now) {
    long at = clock.at(now);
    long most = Math.max(SECONDS * rules.least(), calls.sum(at) * rules.percent() / 100);
    if (repeated.sum(at) >= most) {
      return false;
    }
    repeated.add(at, 1);
    return true;
  }
}
