package io.trunkcall;

import java.nio.channels.SocketChannel;
import java.util.concurrent.CompletionStage;

/** Opens the byte streams of a client in place of the system: tunnels, proxies, test networks. */
@FunctionalInterface
public interface Dialer {
  /**
   * Begins to open a stream to {@code HOST:PORT}, {@code unix:PATH} or {@code mem:NAME} of an
   * endpoint, without blocking. The channel is connected; TLS and WebSockets lie above it.
   */
  CompletionStage<SocketChannel> dial(String address, Endpoint endpoint);
}
