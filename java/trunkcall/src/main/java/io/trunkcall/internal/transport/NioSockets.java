package io.trunkcall.internal.transport;

import io.netty.channel.Channel;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.ServerChannel;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioDomainSocketChannel;
import io.netty.channel.socket.nio.NioServerDomainSocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import java.net.SocketAddress;
import java.net.UnixDomainSocketAddress;
import org.jspecify.annotations.Nullable;

/** Sockets of the JDK. */
final class NioSockets implements Sockets {
  @Override
  public IoHandlerFactory waiting() {
    return NioIoHandler.newFactory();
  }

  @Override
  public Channel client(boolean unix) {
    return unix ? new NioDomainSocketChannel() : new NioSocketChannel();
  }

  @Override
  public ServerChannel server(boolean unix) {
    return unix ? new NioServerDomainSocketChannel() : new NioServerSocketChannel();
  }

  @Override
  public SocketAddress unix(String path) {
    return UnixDomainSocketAddress.of(path);
  }

  @Override
  public @Nullable String path(SocketAddress address) {
    return address instanceof UnixDomainSocketAddress unix ? unix.getPath().toString() : null;
  }

  @Override
  public void userTimeout(Channel channel, int millis) {
    // The JDK has no such option.
  }
}
