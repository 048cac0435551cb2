package io.trunkcall;

import io.trunkcall.internal.client.Balancers;
import io.trunkcall.internal.client.Policies;
import io.trunkcall.internal.client.Target;
import io.trunkcall.internal.client.Unreached;
import io.trunkcall.internal.policy.Holds;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Collects what a client is to be. Options fail where they are given. Used by one thread. */
public final class ClientBuilder extends SideBuilder<ClientBuilder> {
  static {
    Unreached.option(builder -> builder.unreachedLevel = System.Logger.Level.DEBUG);
  }

  private final String text;
  private final Map<String, Resolver> resolvers = new HashMap<>();
  private final List<Policy> policies = new ArrayList<>();
  private @Nullable Duration timeout;

  Balancer balancer = Balancer.roundRobin();
  @Nullable Dialer dialer;
  int connections = 1;
  int mostEndpoints = 20;
  Duration idleTimeout = Duration.ZERO;
  String serverName = "";
  System.Logger.Level unreachedLevel = System.Logger.Level.INFO;
  private String zone = "";

  ClientBuilder(String target) {
    super(Configs.CLIENT_KEEPALIVE);
    this.text = target;
  }

  @Override
  ClientBuilder self() {
    return this;
  }

  /** What turns {@code SCHEME:REST} into endpoints. */
  public ClientBuilder resolver(String scheme, Resolver resolver) {
    Target.checkScheme(scheme);
    resolvers.put(scheme, Objects.requireNonNull(resolver, "resolver"));
    return this;
  }

  /** What chooses the endpoint of a call; {@link Balancer#roundRobin} unless it is given. */
  public ClientBuilder balancer(Balancer balancer) {
    this.balancer = Objects.requireNonNull(balancer, "balancer");
    return this;
  }

  /** What opens the byte streams in place of the system. */
  public ClientBuilder dialer(Dialer dialer) {
    this.dialer = Objects.requireNonNull(dialer, "dialer");
    return this;
  }

  /** How many connections are kept to each endpoint: 1 unless it is given. */
  public ClientBuilder connections(int count) {
    this.connections = Checks.count("connections", count, 1);
    return this;
  }

  /** How many endpoints are used at a time: 20 unless it is given; 0: all. */
  public ClientBuilder mostEndpoints(int count) {
    this.mostEndpoints = Checks.count("mostEndpoints", count, 0);
    return this;
  }

  /** After how long without calls connections are closed; zero: never. */
  public ClientBuilder idleTimeout(Duration time) {
    Checks.micros("idleTimeout", time);
    this.idleTimeout = time;
    return this;
  }

  /** What holds for the calls of a method, of a service, or for all. */
  public ClientBuilder policy(Policy policy) {
    policies.add(Objects.requireNonNull(policy, "policy"));
    Policies.of(policies, timeout);
    return this;
  }

  /** A default for unary calls. */
  public ClientBuilder timeout(Duration timeout) {
    Checks.timeoutMicros("timeout", timeout);
    Policies.of(policies, timeout);
    this.timeout = timeout;
    return this;
  }

  /** The name that the servers' certificates must show, in place of that of the endpoint. */
  public ClientBuilder serverName(String name) {
    this.serverName = Objects.requireNonNull(name, "serverName");
    return this;
  }

  /**
   * The zone that the client runs in. Where a policy file says so, it prefers endpoints of that
   * zone ({@link Endpoint#zone}).
   */
  public ClientBuilder zone(String zone) {
    if (zone.isEmpty()) {
      throw new IllegalArgumentException("option zone: the zone is empty");
    }
    this.zone = zone;
    return this;
  }

  @Override
  @Nullable WatchedPolicyFile callsFile() {
    Path file = policyFile;
    if (file == null) {
      return null;
    }
    if (!policies.isEmpty() || timeout != null || !repeat) {
      throw new IllegalArgumentException(
          "options policyFile and policy, timeout or repeat contradict each other");
    }
    return new WatchedPolicyFile(file, zone, sources, timers, this::unplaceable);
  }

  /** The rules that would have to choose before a balancer of the user's. */
  private List<String> unplaceable(Holds holds) {
    List<String> parts = new ArrayList<>();
    if (!Balancers.isOwn(balancer) && holds.balancer() == null) {
      String named = " before the balancer " + balancer.getClass().getName();
      if (holds.outliers() != null) {
        parts.add("outliers" + named);
      }
      if (holds.zones() != null) {
        parts.add("zones" + named);
      }
    }
    return parts;
  }

  @Override
  Policies policies() {
    return Policies.of(policies, timeout);
  }

  /**
   * The client. It connects with the first call, or by {@link Client#connect}.
   *
   * @throws IllegalArgumentException for a target that is none
   */
  public Client build() {
    Target target = Target.parse(text, resolvers);
    boolean secure = tls != null || target.resolver() != null || text.contains("wss:");
    if (!serverName.isEmpty() && !secure) {
      throw new IllegalArgumentException(
          "option serverName: \"" + serverName + "\" was given, and no TLS that could show it");
    }
    return new Client(this, target);
  }
}
