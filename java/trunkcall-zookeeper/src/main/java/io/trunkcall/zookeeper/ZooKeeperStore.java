package io.trunkcall.zookeeper;

import io.trunkcall.registry.Place;
import io.trunkcall.registry.Store;
import io.trunkcall.registry.Watcher;
import io.trunkcall.registry.Written;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.client.ZKClientConfig;
import org.apache.zookeeper.data.ACL;
import org.jspecify.annotations.Nullable;

/**
 * A registry in ZooKeeper, by its own client. Each server that is published and each service that
 * is watched has a session of its own. Any thread may use it.
 */
public final class ZooKeeperStore implements Store {
  // What ZooKeeper may send at once, in bytes: the names of 100,000 nodes.
  private static final String LARGEST = Integer.toString(16 << 20);

  final String hosts;
  final String root; // with a slash before and none behind it
  final Duration lease;
  final List<ACL> acl;
  private final @Nullable ZKClientConfig config;
  final String scheme;
  final byte[] auth;

  private ZooKeeperStore(Builder from) {
    this.hosts = String.join(",", from.place.hosts());
    this.root = "/" + from.place.rootOrUsual();
    this.lease = from.place.leaseOrUsual();
    this.acl = from.acl;
    this.config = from.config;
    this.scheme = from.scheme;
    this.auth = from.auth;
  }

  /** A builder of the registry at a place. */
  public static Builder builder(Place place) {
    return new Builder(place);
  }

  /** What the library's client is to know. It logs when it is made: not before it is needed. */
  ZKClientConfig config() {
    ZKClientConfig made = config == null ? new ZKClientConfig() : config;
    if (made.getProperty(ZKClientConfig.JUTE_MAXBUFFER) == null) {
      made.setProperty(ZKClientConfig.JUTE_MAXBUFFER, LARGEST);
    }
    return made;
  }

  @Override
  public void watch(String service, Watcher watcher) throws Exception {
    // Nothing is bound to the session, and silence is to be noticed.
    Duration brief = lease.compareTo(Place.LEASE) < 0 ? lease : Place.LEASE;
    try (Session session = Session.open(this, brief)) {
      new NodeLooking(session, root + "/" + service).watch(watcher);
    }
  }

  @Override
  public void keep(List<Written> records, Runnable published) throws Exception {
    new NodeKeeping(this, records).keep(published);
  }

  @Override
  public String toString() {
    return "zookeeper:" + hosts + root;
  }

  /** Collects how a registry is to be reached. Used by one thread. */
  public static final class Builder {
    private final Place place;
    private List<ACL> acl = ZooDefs.Ids.OPEN_ACL_UNSAFE;
    private @Nullable ZKClientConfig config;
    private String scheme = "";
    private byte[] auth = new byte[0];

    private Builder(Place place) {
      this.place = Objects.requireNonNull(place, "place");
    }

    /** What may be done with the nodes that are made: anything by anybody, unless it is given. */
    public Builder acl(List<ACL> acl) {
      this.acl = List.copyOf(acl);
      return this;
    }

    /** What clients say of themselves, such as {@code digest} and {@code user:password}. */
    public Builder auth(String scheme, String auth) {
      this.scheme = Objects.requireNonNull(scheme, "scheme");
      this.auth = auth.getBytes(StandardCharsets.UTF_8);
      return this;
    }

    /** What else the library's client is to know, such as TLS. */
    public Builder config(ZKClientConfig config) {
      this.config = Objects.requireNonNull(config, "config");
      return this;
    }

    /** The registry, of which nothing is asked yet. */
    public ZooKeeperStore build() {
      return new ZooKeeperStore(this);
    }
  }
}
