/**
 * Consul as a registry (spec/registry.md 3, 10.4). A program that has this package may open
 * registries named {@code consul:HOST:PORT?lease=SECONDS}.
 */
@NullMarked
package io.trunkcall.consul;

import org.jspecify.annotations.NullMarked;
