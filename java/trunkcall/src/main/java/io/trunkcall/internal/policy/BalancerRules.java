package io.trunkcall.internal.policy;

/** The balancer of a method; its key is empty if it has none. */
public record BalancerRules(String name, String key) {}
