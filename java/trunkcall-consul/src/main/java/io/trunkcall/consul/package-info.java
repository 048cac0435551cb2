/**
 * Consul as a registry (spec/registry.md 3, 10.4, 10.5). A program that has this package may open
 * registries named {@code consul:HOST:PORT/ROOT?lease=SECONDS}: without a root, servers are
 * services of Consul's catalog; with one, keys under it.
 */
@NullMarked
package io.trunkcall.consul;

import org.jspecify.annotations.NullMarked;
