package io.trunkcall.etcd;

import io.trunkcall.registry.Place;
import io.trunkcall.registry.Registry;
import io.trunkcall.registry.Source;

/** Opens registries by their names, for {@link java.util.ServiceLoader}. */
public final class EtcdScheme implements Registry.Scheme {
  /** The scheme. */
  public EtcdScheme() {}

  @Override
  public String name() {
    return "etcd";
  }

  @Override
  public Source open(String rest) {
    Place place =
        Place.parse(rest)
            .orElseThrow(
                () -> new IllegalArgumentException("want etcd:HOST:PORT,…/ROOT?lease=SECONDS"));
    return new EtcdStore(place);
  }
}
