package io.trunkcall.internal.transport;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelException;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.ServerChannel;
import io.netty.channel.local.LocalServerChannel;
import io.netty.channel.socket.nio.NioServerDomainSocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import java.io.IOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.IllegalBlockingModeException;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * One address that is listened on. Its connections are spread over the event loops, and each
 * becomes what its first bytes tell ({@link Opening}). For any thread.
 */
public final class Listener {
  private static final int BACKLOG = 1_024;

  final Acceptor acceptor;
  final ListenOptions options;
  final @Nullable TlsSource tls;
  final List<Protocol> protocols;
  final Set<Opening> opening = ConcurrentHashMap.newKeySet(); // that have said nothing yet
  final Set<Upgrading> upgrading = ConcurrentHashMap.newKeySet(); // whose request is not whole

  private final Loops loops;
  private final List<Channel> bound = new ArrayList<>();
  private Address address;
  private volatile boolean closed;

  private Listener(Loops loops, Address address, ListenOptions options, Acceptor acceptor)
      throws IOException {
    this.loops = loops;
    this.address = address;
    this.options = options;
    this.acceptor = acceptor;
    List<Protocol> asked = new ArrayList<>(options.protocols());
    if (options.origins() != null) {
      asked.add(Upgrading.protocol(this, options.origins()));
    }
    this.protocols = List.copyOf(asked);
    Set<String> offered = new LinkedHashSet<>();
    protocols.forEach(one -> offered.addAll(one.alpn()));
    TlsSource given = options.tls();
    this.tls = given == null ? null : given.offering(List.copyOf(offered));
  }

  /**
   * Listens on HOST:PORT, port 0 for any free one, unix:PATH or mem:NAME. Blocks while the name is
   * looked up.
   *
   * @throws IOException for an address that cannot be listened on
   * @throws IllegalArgumentException for what is no address
   */
  public static Listener listen(String where, ListenOptions options, Acceptor acceptor)
      throws IOException {
    return listen(Loops.NATIVE, where, options, acceptor);
  }

  static Listener listen(Loops loops, String where, ListenOptions options, Acceptor acceptor)
      throws IOException {
    Listener made = new Listener(loops, Address.parseListening(where), options, acceptor);
    try {
      made.bind();
    } catch (IOException | RuntimeException fault) {
      made.close();
      throw fault;
    }
    return made;
  }

  /**
   * Listens on a user's socket, which is bound.
   *
   * @throws IOException for one that cannot be listened on
   */
  public static Listener adopt(ServerSocketChannel socket, ListenOptions options, Acceptor acceptor)
      throws IOException {
    SocketAddress where = socket.getLocalAddress();
    boolean unix = where instanceof UnixDomainSocketAddress;
    Address address =
        where instanceof InetSocketAddress inet
            ? Address.tcp(inet.getAddress().getHostAddress(), inet.getPort())
            : new Address("", 0, where.toString(), "", "");
    Listener made = new Listener(Loops.nio(), address, options, acceptor);
    try {
      made.bind(
          unix ? new NioServerDomainSocketChannel(socket) : new NioServerSocketChannel(socket),
          null);
      return made;
    } catch (ChannelException | IllegalBlockingModeException fault) {
      throw new IOException("cannot listen on " + address + ": " + Faults.text(fault), fault);
    }
  }

  /** The address, with the port that was found where 0 was given. */
  public String address() {
    return address.toString();
  }

  /** The port, 0 if it is none of TCP. */
  public int port() {
    return address.port();
  }

  /**
   * Stops listening. An accepted connection whose protocol is not known yet counts as native: the
   * acceptor is given it, to tell it that the server drains. A TLS handshake under way is given up.
   */
  public void close() {
    if (closed) {
      return;
    }
    closed = true;
    bound.forEach(one -> one.close().syncUninterruptibly());
    if (!address.path().isEmpty() && !bound.isEmpty()) {
      try {
        Files.deleteIfExists(Path.of(address.path()));
      } catch (IOException fault) {
        acceptor.paused("the socket's file " + address.path() + " stays: " + fault.getMessage());
      }
    }
    opening.forEach(one -> one.onLoop(one::stop));
    upgrading.forEach(Upgrading::stop);
  }

  // Binding.

  private void bind() throws IOException {
    if (!address.name().isEmpty()) {
      bind(new LocalServerChannel(), Spelling.memory(address.name()));
    } else if (!address.path().isEmpty()) {
      dropAbandoned(Path.of(address.path()));
      bind(loops.sockets.server(true), loops.sockets.unix(address.path()));
    } else {
      bindTcp();
    }
  }

  private void bindTcp() throws IOException {
    if (address.host().isEmpty()) {
      address = at(bind(loops.sockets.server(false), new InetSocketAddress(address.port())));
      return;
    }
    Set<InetAddress> hosts = new LinkedHashSet<>(List.of(InetAddress.getAllByName(address.host())));
    for (InetAddress host : hosts) { // the first of port 0 finds one for all
      SocketAddress where = new InetSocketAddress(host, address.port());
      address = at(bind(loops.sockets.server(false), where));
    }
  }

  private Address at(Channel channel) {
    InetSocketAddress found = (InetSocketAddress) channel.localAddress();
    return Address.tcp(address.host(), found.getPort());
  }

  /** Listens with a channel at an address; null: it is bound. */
  private Channel bind(ServerChannel channel, @Nullable SocketAddress where) throws IOException {
    EventLoopGroup group = loops.group;
    ServerBootstrap bootstrap = new ServerBootstrap().group(group, group);
    bootstrap.channelFactory(() -> channel);
    if (where instanceof InetSocketAddress) {
      bootstrap.option(ChannelOption.SO_REUSEADDR, true);
    }
    if (!(channel instanceof LocalServerChannel)) {
      bootstrap.option(ChannelOption.SO_BACKLOG, BACKLOG);
      bootstrap.childOption(ChannelOption.ALLOW_HALF_CLOSURE, true);
    }
    bootstrap.handler(new Pauses());
    bootstrap.childHandler(new Accepted());
    ChannelFuture begun = where == null ? bootstrap.register() : bootstrap.bind(where);
    ChannelFuture done = begun.awaitUninterruptibly();
    if (!done.isSuccess()) {
      Throwable fault = done.cause();
      BindException told =
          new BindException("cannot listen on " + address + ": " + Faults.text(fault));
      told.initCause(fault);
      throw told;
    }
    bound.add(done.channel());
    return done.channel();
  }

  /**
   * Deletes the file of a Unix socket whose listener is gone. Netty would delete whatever is there.
   */
  private void dropAbandoned(Path path) throws IOException {
    if (!Files.exists(path, LinkOption.NOFOLLOW_LINKS)) {
      return;
    }
    if (!Files.readAttributes(path, BasicFileAttributes.class).isOther()) {
      throw new BindException("cannot listen on " + address + ": there is a file, and no socket");
    }
    try (SocketChannel probe = SocketChannel.open(StandardProtocolFamily.UNIX)) {
      probe.connect(UnixDomainSocketAddress.of(path));
    } catch (IOException fault) {
      if (Faults.text(fault).equals("Connection refused")) {
        Files.delete(path);
        return;
      }
    }
    throw new BindException("cannot listen on " + address + ": Address already in use");
  }

  // Accepting.

  /** Netty stops accepting for a second when that fails. */
  private final class Pauses extends ChannelInboundHandlerAdapter {
    @Override
    public boolean isSharable() {
      return true;
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
      acceptor.paused("1 s: " + Faults.text(cause));
      context.fireExceptionCaught(cause);
    }
  }

  private final class Accepted extends ChannelInitializer<Channel> {
    @Override
    protected void initChannel(Channel channel) {
      long since = Clock.micros();
      boolean proxied = options.proxied() && channel.remoteAddress() instanceof InetSocketAddress;
      // Of an address first: a place that is not there of all is not kept of the address for long.
      String full = proxied ? null : options.places().take(channel, channel.remoteAddress());
      if (full == null) {
        full = options.places().take(channel);
      }
      if (proxied) {
        ProxyHeader.expect(Listener.this, channel, since, full);
      } else {
        begin(channel, since, full);
      }
    }
  }

  /** Finds out what a channel speaks; turns it away if there is no place for it. */
  void begin(Channel channel, long since, @Nullable String full) {
    if (full == null) {
      channel.pipeline().addLast(new Opening(this, since));
      return;
    }
    acceptor.rejected(remote(channel), full);
    if (tls == null && options.places().takeTold(channel)) {
      channel.pipeline().addLast(Told.full(full, protocols));
    } else {
      channel.close();
    }
  }

  String remote(Channel channel) {
    return Spelling.remote(channel, loops.sockets);
  }

  /** A connection was closed for what it began with. */
  public void turnedAway(String remote, String why) {
    acceptor.rejected(remote, why);
  }

  /**
   * Makes a WebSocket of a connection whose request comes next, decoded by the handler called
   * {@code http}.
   */
  public void upgrade(Channel channel, long since) {
    List<String> allowed = options.origins();
    channel
        .pipeline()
        .addLast("upgrading", new Upgrading(this, allowed == null ? List.of() : allowed, since));
  }

  /** Makes a native connection of a channel. Its end hears of a listener that is closed. */
  void attach(Channel channel, long since) {
    ConnectionEvents end = acceptor.accept();
    Carrier.attach(channel, end, false, acceptor.config(), acceptor.methods(), since);
  }
}
