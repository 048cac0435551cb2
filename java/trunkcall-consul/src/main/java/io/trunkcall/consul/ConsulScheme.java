package io.trunkcall.consul;

import io.trunkcall.registry.Place;
import io.trunkcall.registry.Registry;
import io.trunkcall.registry.Source;

/** Opens registries by their names, for {@link java.util.ServiceLoader}. */
public final class ConsulScheme implements Registry.Scheme {
  /** The scheme. */
  public ConsulScheme() {}

  @Override
  public String name() {
    return "consul";
  }

  @Override
  public Source open(String rest) {
    Place place =
        Place.parse(rest)
            .filter(one -> one.hosts().size() == 1)
            .orElseThrow(
                () -> new IllegalArgumentException("want consul:HOST:PORT/ROOT?lease=SECONDS"));
    return ConsulStore.builder(place.hosts().get(0))
        .root(place.root())
        .lease(place.lease())
        .build();
  }
}
