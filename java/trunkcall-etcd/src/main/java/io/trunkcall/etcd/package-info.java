/**
 * etcd as a registry (spec/registry.md 3, 10.2). A program that has this package may open
 * registries named {@code etcd:HOST:PORT,…/ROOT?lease=SECONDS}.
 */
@NullMarked
package io.trunkcall.etcd;

import org.jspecify.annotations.NullMarked;
