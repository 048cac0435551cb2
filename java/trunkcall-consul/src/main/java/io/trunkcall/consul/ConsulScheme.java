package io.trunkcall.consul;

import io.trunkcall.registry.Place;
import io.trunkcall.registry.Registry;
import io.trunkcall.registry.Source;
import java.util.Optional;

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
    Optional<Place> place = Place.parse(rest);
    if (place.isEmpty() || place.get().hosts().size() > 1 || !place.get().root().isEmpty()) {
      throw new IllegalArgumentException("want consul:HOST:PORT?lease=SECONDS");
    }
    return ConsulStore.builder(place.get().hosts().get(0)).lease(place.get().lease()).build();
  }
}
