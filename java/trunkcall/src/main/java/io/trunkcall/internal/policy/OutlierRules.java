package io.trunkcall.internal.policy;

/** When an endpoint is left out, and how many at most (policy.md 11). */
public record OutlierRules(TripRules trip, long eject, long maxEject, long cap) {}
