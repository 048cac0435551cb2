package io.trunkcall.internal.policy;

/** How many calls may begin in a time (policy.md 12). */
public record RateRules(long perSecond, long burst, Shares shares) {}
