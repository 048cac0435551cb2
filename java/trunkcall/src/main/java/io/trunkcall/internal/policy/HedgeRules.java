package io.trunkcall.internal.policy;

/** When another attempt is made beside those under way (policy.md 9). */
public record HedgeRules(long delay, long attempts, Codes stop) {}
