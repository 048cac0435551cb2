package io.trunkcall.internal.transport;

import java.nio.channels.SocketChannel;
import java.util.concurrent.CompletionStage;

/** A user's dialer: opens the byte stream in place of the system (client.md 9.5). */
@FunctionalInterface
public interface OpenChannel {
  /**
   * Begins to open a stream to HOST:PORT, unix:PATH or mem:NAME, without blocking. The channel is
   * connected; it may block, and belongs to the connection from then on.
   */
  CompletionStage<SocketChannel> open(String address);
}
