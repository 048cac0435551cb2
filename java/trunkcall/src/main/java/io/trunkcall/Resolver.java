package io.trunkcall;

import io.trunkcall.internal.client.Dns;
import java.net.InetAddress;
import java.util.List;
import java.util.Objects;

/**
 * Finds the endpoints that a target stands for, and tells of each change: {@code
 * Client.builder("consul:web").resolver("consul", resolver)}.
 */
@FunctionalInterface
public interface Resolver {
  /** Finds the addresses of a host. */
  @FunctionalInterface
  interface Lookup {
    /**
     * The addresses of {@code host}. Called on the thread of a resolver, which it may block, and
     * which is interrupted when the client is closed.
     */
    List<InetAddress> addresses(String host) throws Exception;
  }

  /**
   * The resolver of targets {@code dns:HOST:PORT}, each of whose addresses is an endpoint. It is
   * built in; {@code resolver("dns", Resolver.dns(lookup))} finds the addresses otherwise than the
   * runtime does.
   */
  static Resolver dns(Lookup lookup) {
    return Dns.by(Objects.requireNonNull(lookup, "lookup"));
  }

  /**
   * Calls {@link Watch#set} with the whole set, at once and whenever it changes, until its thread
   * is interrupted. It may return when no change will come, or when another thread will tell of it.
   * When it throws, or returns before there was a good set, it is called again, later each time.
   *
   * <p>It is called on a thread of its own, and not before the first call of the client. The thread
   * is interrupted when the client is closed, and nobody waits for its end.
   */
  void resolve(Watch watch) throws Exception;
}
