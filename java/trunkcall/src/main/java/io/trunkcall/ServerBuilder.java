package io.trunkcall;

import io.trunkcall.internal.client.Policies;
import io.trunkcall.internal.transport.Clock;
import io.trunkcall.internal.transport.ListenOptions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** Collects what a server is to be. Options fail where they are given. Used by one thread. */
public final class ServerBuilder extends SideBuilder<ServerBuilder> {
  final List<String> addresses = new ArrayList<>();
  final List<String> origins = new ArrayList<>();
  final List<Protocol> protocols = new ArrayList<>();
  final List<Registrar> registrars = new ArrayList<>();
  boolean allowCleartext;
  boolean nativeOnly;
  boolean proxyProtocol;
  int maxConnections = Integer.MAX_VALUE;
  int maxConnectionsPerAddress = ListenOptions.PER_ADDRESS;
  long maxConnectionAge; // µs, 0: none
  long drainDelay; // µs
  LongSupplier clock = Clock::micros; // of the limits of time of HTTP, which tests hurry
  long tick = 1_000_000; // µs between two looks at them

  ServerBuilder() {
    super(Configs.SERVER_KEEPALIVE);
  }

  @Override
  ServerBuilder self() {
    return this;
  }

  @Override
  Policies policies() {
    return Policies.NONE;
  }

  @Override
  @Nullable WatchedPolicyFile servedFile() {
    return policyFile == null
        ? null
        : new WatchedPolicyFile(policyFile, "", sources, timers, holds -> List.of());
  }

  /**
   * Where it listens once it is started: {@code HOST:PORT}, port 0 for any free one, {@code
   * unix:PATH}, or {@code mem:NAME} for clients of this process, without TLS.
   */
  public ServerBuilder listen(String... where) {
    addresses.addAll(List.of(where));
    return this;
  }

  /** Whether cleartext is accepted beside TLS. */
  public ServerBuilder allowCleartext(boolean allow) {
    this.allowCleartext = allow;
    return this;
  }

  /**
   * Web pages that may open WebSockets, such as {@code https://app.example.com}, besides those of
   * the server's own host and port; {@code *} stands for all.
   */
  public ServerBuilder origins(String... pages) {
    origins.addAll(List.of(pages));
    return this;
  }

  /** Protocols of one's own, besides those that a server has. */
  public ServerBuilder protocol(Protocol... more) {
    protocols.addAll(List.of(more));
    return this;
  }

  /** Serves the native protocol alone, and {@link #protocol}: no HTTP, no WebSockets. */
  public ServerBuilder nativeOnly() {
    this.nativeOnly = true;
    return this;
  }

  /**
   * For a server behind a proxy that sends the PROXY protocol, version 1 or 2: each connection over
   * TCP must begin with its header, whose addresses hold in place of the socket's. The header is
   * believed, so nobody but the proxy may be able to reach the port.
   */
  public ServerBuilder proxyProtocol() {
    this.proxyProtocol = true;
    return this;
  }

  /**
   * How many connections there may be, over all addresses that are listened on: as many as the
   * process may have, unless it is given. More are told so, counted and closed.
   */
  public ServerBuilder maxConnections(int most) {
    this.maxConnections = Checks.count("maxConnections", most, 1);
    return this;
  }

  /**
   * How many of them may come from one address (of IPv6 its first 64 bits): 16,384 unless it is
   * given. Behind the PROXY protocol the address is the one that the proxy says.
   */
  public ServerBuilder maxConnectionsPerAddress(int most) {
    this.maxConnectionsPerAddress = Checks.count("maxConnectionsPerAddress", most, 1);
    return this;
  }

  /** Refuses requests of code-first methods in JSON that have unknown keys or fields. */
  public ServerBuilder strictJson() {
    this.strictJson = true;
    return this;
  }

  /** What is asked about each call before anything is done for it. */
  public ServerBuilder admission(Admission admission) {
    this.admission = Objects.requireNonNull(admission, "admission");
    return this;
  }

  /**
   * Who publishes the server when it listens. {@link Server#stop} has it withdrawn first, in 5
   * seconds at most, then waits for the drain delay, in which clients hear of it.
   */
  public ServerBuilder registrar(Registrar registrar) {
    registrars.add(Objects.requireNonNull(registrar, "registrar"));
    return this;
  }

  /**
   * After how long a connection is drained, a tenth more or less, so that load spreads to new
   * servers behind a load balancer.
   */
  public ServerBuilder maxConnectionAge(Duration age) {
    this.maxConnectionAge = Checks.timeoutMicros("maxConnectionAge", age);
    return this;
  }

  /**
   * How long {@link Server#stop} serves on before it begins, so that registries forget it first.
   */
  public ServerBuilder drainDelay(Duration delay) {
    this.drainDelay = Checks.micros("drainDelay", delay);
    return this;
  }

  /**
   * The server, which does not listen yet.
   *
   * @throws IllegalArgumentException for a method that is served twice, or options that contradict
   *     each other
   */
  public Server build() {
    if (allowCleartext && tls == null) {
      throw new IllegalArgumentException(
          "option allowCleartext: it was given, and no tls, beside which cleartext is allowed");
    }
    return new Server(this);
  }
}
