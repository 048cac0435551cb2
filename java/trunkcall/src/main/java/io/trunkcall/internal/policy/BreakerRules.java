package io.trunkcall.internal.policy;

/** When no attempts of a method are made (policy.md 10). */
public record BreakerRules(TripRules trip, long open, long probes) {}
