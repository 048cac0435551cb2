package io.trunkcall.lab.echo;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.ServerChannel;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.trunkcall.lab.program.BenchMessages;
import io.trunkcall.lab.program.Peer;
import io.trunkcall.lab.program.Program;
import io.trunkcall.load.Address;
import io.trunkcall.load.AsyncCall;
import io.trunkcall.load.Call;
import io.trunkcall.load.Calls;
import io.trunkcall.load.Flags;
import io.trunkcall.load.Options;
import io.trunkcall.load.UsageError;
import io.trunkcall.load.Work;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;

/**
 * Java-echo is no RPC framework but what one is measured against: bytes sent back by a server that
 * looks at none of them. There is no codec, no dispatch and no thread for a handler.
 *
 * <p>The server and connections that callers share run on Netty's event loops; callers with a
 * connection to themselves read and write in turn on a plain socket. The frames are those of
 * go-echo.
 */
public final class EchoPeer implements Peer {
  private Flags.Value<Boolean> async;

  public static void main(String[] words) {
    Program.main(EchoPeer::new, words);
  }

  @Override
  public String name() {
    return "java-echo";
  }

  @Override
  public List<String> methods() {
    return List.of("Say", "Echo", "EchoStream");
  }

  @Override
  public void benchFlags(Flags flags) {
    async =
        flags.toggle("--async", "make calls on the event loop, without a thread for each caller");
  }

  private static EventLoopGroup loops() {
    return new MultiThreadIoEventLoopGroup(
        Epoll.isAvailable() ? EpollIoHandler.newFactory() : NioIoHandler.newFactory());
  }

  @Override
  public int serve(Address listen, Work work) throws InterruptedException {
    Class<? extends ServerChannel> kind =
        Epoll.isAvailable() ? EpollServerSocketChannel.class : NioServerSocketChannel.class;
    Channel listener =
        new ServerBootstrap()
            .group(loops())
            .channel(kind)
            .option(ChannelOption.SO_BACKLOG, 4096)
            .childOption(ChannelOption.TCP_NODELAY, true)
            .childHandler(
                new ChannelInitializer<>() {
                  @Override
                  protected void initChannel(Channel channel) {
                    channel.pipeline().addLast(new Echo());
                  }
                })
            .bind(listen.host(), listen.port())
            .sync()
            .channel();
    return ((InetSocketAddress) listener.localAddress()).getPort();
  }

  /** Sends back what comes, and stops reading while the other side does not take it. */
  private static final class Echo extends ChannelInboundHandlerAdapter {
    @Override
    public void channelRead(ChannelHandlerContext context, Object data) {
      context.write(data, context.voidPromise());
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext context) {
      context.flush();
    }

    @Override
    public void channelWritabilityChanged(ChannelHandlerContext context) {
      context.channel().config().setAutoRead(context.channel().isWritable());
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable failure) {
      context.close();
    }
  }

  @Override
  public Calls bench(Options options) throws Exception {
    byte[] payload =
        options.method().equals("Say")
            ? BenchMessages.request().toByteArray()
            : BenchMessages.data(options.size());
    boolean alone = options.callers() <= options.connections();
    if (options.method().equals("EchoStream")) {
      if (!alone) {
        throw new UsageError(
            "each caller of EchoStream needs a connection: raise --connections to --callers");
      }
      return alone(options, socket -> socket.stream(payload));
    }
    if (alone && !async.get()) {
      return alone(options, socket -> socket.pingPong(payload));
    }
    return shared(options, payload);
  }

  private interface Use {
    Call of(Socket socket);
  }

  /** A plain socket for each caller. */
  private static Calls alone(Options options, Use use) throws Exception {
    List<Socket> sockets = new ArrayList<>();
    List<Call> calls = new ArrayList<>();
    for (int i = 0; i < options.connections(); i++) {
      sockets.add(Socket.connect(options.target()));
    }
    for (Socket socket : options.spread(sockets)) {
      calls.add(use.of(socket));
    }
    return Calls.blocking(calls, sockets);
  }

  private Calls shared(Options options, byte[] payload) throws Exception {
    EventLoopGroup loops = loops();
    Bootstrap bootstrap =
        new Bootstrap()
            .group(loops)
            .channel(Epoll.isAvailable() ? EpollSocketChannel.class : NioSocketChannel.class)
            .option(ChannelOption.TCP_NODELAY, true)
            .handler(
                new ChannelInitializer<>() {
                  @Override
                  protected void initChannel(Channel channel) {
                    channel.pipeline().addLast(new Line(channel, payload));
                  }
                });
    List<Line> lines = new ArrayList<>();
    for (int i = 0; i < options.connections(); i++) {
      Address target = options.target();
      Channel channel = bootstrap.connect(target.host(), target.port()).sync().channel();
      lines.add(channel.pipeline().get(Line.class));
    }
    List<AsyncCall> calls = options.spread(lines).stream().map(Line::caller).toList();
    List<AutoCloseable> closing = List.of(loops::shutdownGracefully);
    return async.get()
        ? Calls.async(calls, closing)
        : Calls.blocking(calls.stream().map(AsyncCall::waiting).toList(), closing);
  }
}
