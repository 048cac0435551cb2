package io.trunkcall.internal.transport;

import io.netty.channel.Channel;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.ServerChannel;
import java.net.SocketAddress;
import org.jspecify.annotations.Nullable;

/** The sockets of one way to wait for them: epoll, or the selectors of the JDK. */
interface Sockets {
  /** What waits for the sockets of a loop. */
  IoHandlerFactory waiting();

  /** An unconnected channel for TCP, or for a Unix socket. */
  Channel client(boolean unix);

  /** An unbound channel for TCP, or for a Unix socket. */
  ServerChannel server(boolean unix);

  /** The address of a Unix socket. */
  SocketAddress unix(String path);

  /** The path of a Unix socket's address, null if it is none, empty if it has no name. */
  @Nullable String path(SocketAddress address);

  /**
   * After how many milliseconds without an acknowledgement the system ends the connection, unless
   * something else was set before. Nothing happens where there is no such thing.
   */
  void userTimeout(Channel channel, int millis);
}
