/**
 * ZooKeeper as a registry (spec/registry.md 3, 10.3). A program that has this package may open
 * registries named {@code zookeeper:HOST:PORT,…/ROOT?lease=SECONDS}.
 */
@NullMarked
package io.trunkcall.zookeeper;

import org.jspecify.annotations.NullMarked;
