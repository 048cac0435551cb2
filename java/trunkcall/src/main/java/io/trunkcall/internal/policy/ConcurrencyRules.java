package io.trunkcall.internal.policy;

import org.jspecify.annotations.Nullable;

/** How many calls may run at once (policy.md 13): a limit, or how one is found. */
public record ConcurrencyRules(long limit, @Nullable Adaptive adaptive, Shares shares) {
  /** A limit that follows latency. */
  public record Adaptive(
      long least,
      long most,
      long start,
      long samples,
      long window,
      long tolerance,
      long remeasure) {}
}
