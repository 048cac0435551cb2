package io.trunkcall.internal.transport;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.handler.codec.ProtocolDetectionState;
import io.netty.handler.codec.haproxy.HAProxyCommand;
import io.netty.handler.codec.haproxy.HAProxyMessage;
import io.netty.handler.codec.haproxy.HAProxyMessageDecoder;
import io.netty.handler.codec.haproxy.HAProxyProtocolException;
import io.netty.handler.codec.haproxy.HAProxyProxiedProtocol;
import io.netty.util.NetUtil;
import io.netty.util.ReferenceCountUtil;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.UnknownHostException;
import java.util.List;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The header of the PROXY protocol, version 1 or 2, ahead of everything else on a connection
 * (http.md 1): whose connection the proxy passes on. Behind it the connection begins as others do.
 */
final class ProxyHeader extends ChannelInboundHandlerAdapter {
  private static final String NONE =
      "there is no header of the PROXY protocol, which this port wants";
  private static final String DECODER = "proxy";

  private final Listener listener;
  private final long since;
  private final @Nullable String full;
  private @Nullable ScheduledFuture<?> timer;
  private boolean over;

  private ProxyHeader(Listener listener, long since, @Nullable String full) {
    this.listener = listener;
    this.since = since;
    this.full = full;
  }

  /** {@code full}: why there is no place for the connection; null if there is. */
  static void expect(Listener listener, Channel channel, long since, @Nullable String full) {
    channel.pipeline().addLast(DECODER, new Decoder());
    channel.pipeline().addLast(new ProxyHeader(listener, since, full));
  }

  /** Netty's, which would wait for the end of a line that is none of this protocol. */
  private static final class Decoder extends HAProxyMessageDecoder {
    @Override
    protected void callDecode(ChannelHandlerContext context, ByteBuf in, List<Object> out) {
      if (detectProtocol(in).state() == ProtocolDetectionState.INVALID) {
        in.skipBytes(in.readableBytes());
        throw new HAProxyProtocolException(NONE);
      }
      super.callDecode(context, in, out);
    }
  }

  @Override
  public void handlerAdded(ChannelHandlerContext context) {
    long most = full == null ? Opening.HANDSHAKE : Told.LINGER * 1_000;
    timer = context.executor().schedule(() -> tooLong(context), most, TimeUnit.MICROSECONDS);
  }

  @Override
  public void channelRead(ChannelHandlerContext context, Object message) throws Exception {
    try {
      if (!over && message instanceof HAProxyMessage header) {
        begin(context, header);
      }
    } finally {
      ReferenceCountUtil.release(message);
    }
  }

  /** The decoder passes on what is behind the header, then to the handler that takes over here. */
  private void begin(ChannelHandlerContext context, HAProxyMessage header)
      throws UnknownHostException {
    over = true;
    Channel channel = context.channel();
    SocketAddress remote = channel.remoteAddress();
    HAProxyProxiedProtocol protocol = header.proxiedProtocol();
    // Of other families, and what the proxy does for itself, the socket's own addresses hold.
    if (header.command() == HAProxyCommand.PROXY
        && (protocol == HAProxyProxiedProtocol.TCP4 || protocol == HAProxyProxiedProtocol.TCP6)) {
      remote = address(header.sourceAddress(), header.sourcePort());
      channel.attr(Spelling.SAID_REMOTE).set(remote);
      channel
          .attr(Spelling.SAID_LOCAL)
          .set(address(header.destinationAddress(), header.destinationPort()));
    }
    String why = full == null ? listener.options.places().take(channel, remote) : full;
    listener.begin(channel, since, why);
    context.pipeline().remove(this);
  }

  private static SocketAddress address(String host, int port) throws UnknownHostException {
    byte[] bytes = NetUtil.createByteArrayFromIpAddressString(host);
    return new InetSocketAddress(InetAddress.getByAddress(bytes), port);
  }

  @Override
  public void userEventTriggered(ChannelHandlerContext context, Object event) {
    if (over) {
      context.fireUserEventTriggered(event);
    } else if (event instanceof ChannelInputShutdownEvent) {
      turnAway(context, "closed before anything was said");
    }
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
    turnAway(context, Faults.text(cause));
  }

  @Override
  public void channelInactive(ChannelHandlerContext context) {
    turnAway(context, "closed before anything was said");
    context.fireChannelInactive();
  }

  private void tooLong(ChannelHandlerContext context) {
    turnAway(context, "it has not come in time");
  }

  private void turnAway(ChannelHandlerContext context, String why) {
    if (!over) {
      over = true;
      String remote = listener.remote(context.channel());
      listener.acceptor.rejected(remote, full == null ? "PROXY protocol: " + why : full);
      Carrier.closeAtOnce(context.channel());
    }
  }

  @Override
  public void handlerRemoved(ChannelHandlerContext context) {
    if (timer != null) {
      timer.cancel(false);
    }
  }
}
