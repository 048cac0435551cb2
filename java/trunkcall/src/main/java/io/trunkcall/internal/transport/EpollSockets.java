package io.trunkcall.internal.transport;

import io.netty.channel.Channel;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.ServerChannel;
import io.netty.channel.epoll.EpollChannelOption;
import io.netty.channel.epoll.EpollDomainSocketChannel;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.epoll.EpollServerDomainSocketChannel;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.channel.unix.DomainSocketAddress;
import java.net.SocketAddress;
import org.jspecify.annotations.Nullable;

/** Sockets of Linux. Loaded only where they can be used. */
final class EpollSockets implements Sockets {
  @Override
  public IoHandlerFactory waiting() {
    return EpollIoHandler.newFactory();
  }

  @Override
  public Channel client(boolean unix) {
    return unix ? new EpollDomainSocketChannel() : new EpollSocketChannel();
  }

  @Override
  public ServerChannel server(boolean unix) {
    return unix ? new EpollServerDomainSocketChannel() : new EpollServerSocketChannel();
  }

  @Override
  public SocketAddress unix(String path) {
    return new DomainSocketAddress(path);
  }

  @Override
  public @Nullable String path(SocketAddress address) {
    return address instanceof DomainSocketAddress unix ? unix.path() : null;
  }

  @Override
  public void userTimeout(Channel channel, int millis) {
    if (channel instanceof EpollSocketChannel socket && socket.config().getTcpUserTimeout() == 0) {
      socket.config().setOption(EpollChannelOption.TCP_USER_TIMEOUT, millis);
    }
  }
}
