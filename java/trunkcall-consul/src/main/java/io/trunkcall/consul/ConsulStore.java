package io.trunkcall.consul;

import io.trunkcall.registry.Place;
import io.trunkcall.registry.Store;
import io.trunkcall.registry.Watcher;
import io.trunkcall.registry.Written;
import java.net.http.HttpClient;
import java.time.Duration;
import java.util.List;
import java.util.Objects;

/**
 * A registry in Consul, by one agent and its API over HTTP. Servers are services of Consul's
 * catalog or, with a {@link Builder#root root}, keys under it: these are for services of more than
 * a thousand instances. Any thread may use it.
 */
public final class ConsulStore implements Store {
  private final Agent agent;
  private final String root; // empty: the catalog
  private final Duration lease;

  private ConsulStore(Builder from) {
    this.root = from.root;
    this.lease = from.lease.isZero() ? Place.LEASE : from.lease;
    this.agent = new Agent(from.scheme + "://" + from.host, from.client, from.token);
  }

  /** A builder of the registry by the agent at {@code HOST:PORT}. */
  public static Builder builder(String host) {
    return new Builder(host);
  }

  @Override
  public void watch(String service, Watcher watcher) throws Exception {
    if (root.isEmpty()) {
      new InstanceLooking(agent, service).watch(watcher);
    } else {
      new KeyLooking(agent, root, service).watch(watcher);
    }
  }

  @Override
  public void keep(List<Written> records, Runnable published) throws Exception {
    Keeping keeping =
        root.isEmpty()
            ? new InstanceKeeping(agent, lease, records)
            : new KeyKeeping(agent, root, lease, records);
    keeping.keep(published);
  }

  @Override
  public String toString() {
    return "consul:" + agent + (root.isEmpty() ? "" : "/" + root);
  }

  /** Collects how a registry is to be reached. Used by one thread. */
  public static final class Builder {
    private final String host;
    private String scheme = "http";
    private String root = "";
    private String token = "";
    private Duration lease = Duration.ZERO;
    private HttpClient client =
        HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .connectTimeout(Duration.ofSeconds(10))
            .build();

    private Builder(String host) {
      this.host = Objects.requireNonNull(host, "host");
    }

    /**
     * Has servers published as keys under a root, names with {@code /} between them, and not as
     * services of the catalog; empty, as it is unless given, has them published as these.
     */
    public Builder root(String root) {
      this.root = new Place(List.of(host), root, Duration.ZERO).root();
      return this;
    }

    /**
     * For how long a server counts that is not heard of: whole seconds, 15 s unless given, and 20 s
     * at least with a root.
     */
    public Builder lease(Duration lease) {
      this.lease = new Place(List.of(host), "", lease).lease();
      return this;
    }

    /** The token that Consul is to be shown. */
    public Builder token(String token) {
      this.token = Objects.requireNonNull(token, "token");
      return this;
    }

    /** The client that asks, of which TLS is an option; the agent is then asked by HTTPS. */
    public Builder secure(HttpClient client) {
      this.client = Objects.requireNonNull(client, "client");
      this.scheme = "https";
      return this;
    }

    /** The registry, of which nothing is asked yet. */
    public ConsulStore build() {
      return new ConsulStore(this);
    }
  }
}
