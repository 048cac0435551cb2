package io.trunkcall;

import io.trunkcall.internal.client.Policies;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/** Collects what a server is to be. Options fail where they are given. Used by one thread. */
public final class ServerBuilder extends SideBuilder<ServerBuilder> {
  final List<String> addresses = new ArrayList<>();
  final List<String> origins = new ArrayList<>();
  boolean allowCleartext;
  boolean nativeOnly;
  long maxConnectionAge; // µs, 0: none
  long drainDelay; // µs

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

  /** Serves the native protocol alone: no WebSockets. */
  public ServerBuilder nativeOnly() {
    this.nativeOnly = true;
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
