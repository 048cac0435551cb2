package io.trunkcall.internal.policy;

/** When calls are made again (policy.md 8). */
public record RetryRules(
    long attempts, long backoff, long maxBackoff, long multiplier, long jitter, Codes codes) {}
