package io.trunkcall.zookeeper;

import io.trunkcall.registry.Place;
import io.trunkcall.registry.Registry;
import io.trunkcall.registry.Source;

/** Opens registries by their names, for {@link java.util.ServiceLoader}. */
public final class ZooKeeperScheme implements Registry.Scheme {
  /** The scheme. */
  public ZooKeeperScheme() {}

  @Override
  public String name() {
    return "zookeeper";
  }

  @Override
  public Source open(String rest) {
    Place place =
        Place.parse(rest)
            .orElseThrow(
                () ->
                    new IllegalArgumentException("want zookeeper:HOST:PORT,…/ROOT?lease=SECONDS"));
    return ZooKeeperStore.builder(place).build();
  }
}
