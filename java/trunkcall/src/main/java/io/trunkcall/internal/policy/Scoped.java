package io.trunkcall.internal.policy;

/** A group whose state the methods of a scope share, and the path of the scope that says it. */
public record Scoped<G>(G rules, String scope) {}
