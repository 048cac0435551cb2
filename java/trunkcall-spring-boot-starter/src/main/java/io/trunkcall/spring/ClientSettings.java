package io.trunkcall.spring;

import static io.trunkcall.spring.Property.give;

import io.trunkcall.Balancer;
import io.trunkcall.ClientBuilder;
import io.trunkcall.Policy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.ssl.SslBundles;

/**
 * What a client is to be. What is not given is as {@code trunkcall.clients.default} says, else as
 * the interface and its annotations say.
 *
 * @param target Where the service is: HOST:PORT, several of them, unix:PATH, dns:HOST:PORT, …
 * @param timeout A call ends after this time at the latest, unless something is said of its method.
 * @param waitForReady Whether calls wait for a connection until their deadline, instead of failing.
 * @param repeat Whether a call that provably was not run is made once more; it is.
 * @param methods What holds for methods, by their public names.
 * @param balancer What chooses the endpoint of a call, round-robin unless it is given.
 * @param connections How many connections are kept to each endpoint, 1 unless it is given.
 * @param mostEndpoints How many endpoints are used at a time, 20 unless it is given; 0 for all.
 * @param idleTimeout After how long without calls connections are closed; never unless it is given.
 * @param keepalive When connections without input are asked for a sign of life.
 * @param compression What requests are compressed by, in the order of preference; nothing unless it
 *     is given.
 * @param limits What is accepted on each connection.
 * @param tls TLS; there is none unless something of it is given.
 */
public record ClientSettings(
    @Nullable String target,
    @Nullable Duration timeout,
    @Nullable Boolean waitForReady,
    @Nullable Boolean repeat,
    @Nullable Map<String, MethodSettings> methods,
    @Nullable Balancing balancer,
    @Nullable Integer connections,
    @Nullable Integer mostEndpoints,
    @Nullable Duration idleTimeout,
    @Nullable KeepaliveProperties keepalive,
    @Nullable List<CompressedBy> compression,
    @Nullable LimitsProperties limits,
    @Nullable ClientTls tls) {
  private static final Duration KEEPALIVE = Duration.ofSeconds(20);

  /** Nothing given. */
  static final ClientSettings NONE =
      new ClientSettings(
          null, null, null, null, null, null, null, null, null, null, null, null, null);

  /** What chooses the endpoint of a call. */
  public enum Balancing {
    /** The first that will do. */
    FIRST,
    /** One after the other. */
    ROUND_ROBIN,
    /** The one of two with fewer calls open. */
    LEAST_LOADED;

    Balancer balancer() {
      return switch (this) {
        case FIRST -> Balancer.first();
        case ROUND_ROBIN -> Balancer.roundRobin();
        case LEAST_LOADED -> Balancer.leastLoaded();
      };
    }
  }

  /** The same with a target. */
  ClientSettings withTarget(String where) {
    return new ClientSettings(
        where,
        timeout,
        waitForReady,
        repeat,
        methods,
        balancer,
        connections,
        mostEndpoints,
        idleTimeout,
        keepalive,
        compression,
        limits,
        tls);
  }

  /** These, and what others say where they say nothing, but of the target. */
  ClientSettings over(ClientSettings others) {
    Map<String, MethodSettings> all = new HashMap<>(or(others.methods, Map.of()));
    all.putAll(or(methods, Map.of()));
    return new ClientSettings(
        target,
        timeout == null ? others.timeout : timeout,
        waitForReady == null ? others.waitForReady : waitForReady,
        repeat == null ? others.repeat : repeat,
        all,
        balancer == null ? others.balancer : balancer,
        connections == null ? others.connections : connections,
        mostEndpoints == null ? others.mostEndpoints : mostEndpoints,
        idleTimeout == null ? others.idleTimeout : idleTimeout,
        keepalive == null ? others.keepalive : keepalive,
        compression == null ? others.compression : compression,
        limits == null ? others.limits : limits,
        tls == null ? others.tls : tls);
  }

  private static <T> T or(@Nullable T given, T otherwise) {
    return given == null ? otherwise : given;
  }

  /** What holds for its connections, which interfaces may share that have the same of it. */
  ClientSettings ofConnections() {
    return new ClientSettings(
        target,
        null,
        null,
        null,
        null,
        balancer,
        connections,
        mostEndpoints,
        idleTimeout,
        keepalive,
        compression,
        limits,
        tls);
  }

  /** What holds for calls of a service, "/package.Service/", or of all, "". */
  List<Policy> policies(String service) {
    List<Policy> policies = new ArrayList<>();
    add(policies, new MethodSettings(timeout, waitForReady, repeat), service);
    or(methods, Map.<String, MethodSettings>of())
        .forEach((name, said) -> add(policies, said, name.startsWith("/") ? name : service + name));
    return policies;
  }

  private static void add(List<Policy> policies, MethodSettings said, String of) {
    Policy policy = said.policy(of);
    if (policy != null) {
      policies.add(policy);
    }
  }

  void apply(ClientBuilder builder, @Nullable SslBundles bundles) {
    give("balancer", balancer, said -> builder.balancer(said.balancer()));
    give("connections", connections, builder::connections);
    give("most-endpoints", mostEndpoints, builder::mostEndpoints);
    give("idle-timeout", idleTimeout, builder::idleTimeout);
    give("keepalive", keepalive, said -> said.apply(builder, KEEPALIVE));
    if (compression != null && !compression.isEmpty()) {
      give("compression", compression, order -> builder.compression(CompressedBy.inOrder(order)));
    }
    give("limits", limits, said -> builder.limits(said.limits()));
    if (tls != null && tls.enabled()) {
      give("tls", tls, said -> builder.tls(said.tls(bundles)));
      give("tls.server-name", tls.serverName(), builder::serverName);
    }
  }
}
