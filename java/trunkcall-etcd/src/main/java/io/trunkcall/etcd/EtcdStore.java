package io.trunkcall.etcd;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.ClientBuilder;
import io.trunkcall.registry.Place;
import io.trunkcall.registry.Store;
import io.trunkcall.registry.Watcher;
import io.trunkcall.registry.Written;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.function.Consumer;

/**
 * A registry in etcd, by jetcd, its own client. Each server that is published and each service that
 * is watched has a client of its own. Any thread may use it.
 */
public final class EtcdStore implements Store {
  private static final int LARGEST = 16 << 20; // bytes of an answer

  private final Place place;
  private final Consumer<ClientBuilder> options;

  /** The registry at a place, in the clear and without a user. */
  public EtcdStore(Place place) {
    this(place, client -> {});
  }

  /** The same, whose clients have options, such as TLS, or a user and a password. */
  public EtcdStore(Place place, Consumer<ClientBuilder> options) {
    this.place = Objects.requireNonNull(place, "place");
    this.options = Objects.requireNonNull(options, "options");
  }

  @Override
  public void watch(String service, Watcher watcher) throws Exception {
    try (Client client = connect()) {
      new KeyLooking(client, "/" + place.rootOrUsual() + "/" + service + "/").watch(watcher);
    }
  }

  @Override
  public void keep(List<Written> records, Runnable published) throws Exception {
    try (Client client = connect()) {
      String root = "/" + place.rootOrUsual() + "/";
      new KeyKeeping(client, root, place.leaseOrUsual(), records).keep(published);
    }
  }

  private Client connect() {
    ClientBuilder builder =
        Client.builder()
            // What its endpoints() makes of an address of IPv6 is refused as no URI.
            .target(
                "ip:///" + String.join(",", place.hosts()).replace("[", "%5B").replace("]", "%5D"))
            // What cannot be reached is a failure, after which all is begun anew.
            .waitForReady(false)
            .retryMaxAttempts(1)
            .connectTimeout(Answers.WITHIN)
            .keepaliveTime(Duration.ofSeconds(5))
            .keepaliveTimeout(Duration.ofSeconds(5))
            .maxInboundMessageSize(LARGEST);
    options.accept(builder);
    return builder.build();
  }

  static ByteSequence bytes(String text) {
    return ByteSequence.from(text, StandardCharsets.UTF_8);
  }

  @Override
  public String toString() {
    return "etcd:" + String.join(",", place.hosts()) + "/" + place.rootOrUsual();
  }
}
