package io.trunkcall.internal.policy;

/**
 * What bounds all repetitions and hedges of a client: a share of its calls, and how many a second.
 */
public record BudgetRules(long percent, long least) {
  static final BudgetRules DEFAULT = new BudgetRules(10, 10);
}
