package io.trunkcall.internal.transport;

import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.local.LocalChannel;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.channel.socket.nio.NioDomainSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.handler.ssl.SslHandler;
import io.netty.handler.ssl.SslHandshakeCompletionEvent;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.UnixDomainSocketAddress;
import java.net.UnknownHostException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.SocketChannel;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * One try to reach one place: connecting, TLS, the upgrade to a WebSocket, the greeting. On the
 * loop of the connection. It is the channel's handler until there is a connection.
 */
final class Attempt extends ChannelInboundHandlerAdapter {
  private static final String GIVEN_UP = "it was given up";

  final boolean secure;

  private final Dialing dialing;
  private final Address address;
  private final String serverName;
  private final CompletableFuture<Carrier> result = new CompletableFuture<>();
  private @Nullable Channel channel;
  private @Nullable Carrier carrier;
  private boolean opened; // the handshakes are done

  Attempt(Dialing dialing, Racing.Place place) {
    this.dialing = dialing;
    this.address = place.address();
    boolean webSocket = !address.url().isEmpty();
    boolean memory = !address.name().isEmpty() && dialing.open() == null; // has no TLS
    this.secure = webSocket ? address.url().startsWith("wss:") : dialing.tls() != null && !memory;
    String host = place.name().isEmpty() ? address.serverName() : place.name();
    this.serverName = dialing.serverName().isEmpty() ? host : dialing.serverName();
  }

  /** Begins. Whoever cancels the result has everything closed that was opened. */
  CompletableFuture<Carrier> begin() {
    result.whenComplete(
        (made, fault) -> {
          if (fault != null) {
            close(fault);
          }
        });
    try {
      OpenChannel open = dialing.open();
      if (open != null) {
        openByUser(open);
      } else {
        connect();
      }
    } catch (IOException | RuntimeException fault) {
      result.completeExceptionally(fault);
    }
    return result;
  }

  /** What is known of a server that has accepted and not spoken. */
  String unheard() {
    Carrier made = carrier;
    return made == null ? "" : made.session().unheard(Clock.micros());
  }

  private void close(Throwable fault) {
    Carrier made = carrier;
    if (made != null && fault instanceof TurnedAwayException) {
      made.submit(() -> made.shut(GIVEN_UP)); // behind what the session says to the server
    } else if (made != null) {
      made.abort(GIVEN_UP);
    } else if (channel != null && channel.isOpen()) {
      Carrier.closeAtOnce(channel);
    }
  }

  // The byte stream.

  private void connect() throws IOException {
    Sockets sockets = Loops.of(dialing.loop()).sockets;
    Bootstrap bootstrap = new Bootstrap().group(dialing.loop()).handler(this);
    if (!address.name().isEmpty()) {
      bootstrap.channelFactory(LocalChannel::new);
    } else {
      bootstrap.channelFactory(() -> sockets.client(!address.path().isEmpty()));
      bootstrap.option(ChannelOption.ALLOW_HALF_CLOSURE, true);
      if (address.path().isEmpty()) {
        bootstrap.option(ChannelOption.CONNECT_TIMEOUT_MILLIS, 0); // the race has timers
      }
    }
    ChannelFuture connecting = bootstrap.connect(where(sockets));
    channel = connecting.channel();
    connecting.addListener(
        done -> {
          if (done.isSuccess()) {
            connected();
          } else {
            result.completeExceptionally(refused(done.cause()));
          }
        });
  }

  private SocketAddress where(Sockets sockets) throws UnknownHostException {
    if (!address.name().isEmpty()) {
      return Spelling.memory(address.name());
    }
    if (!address.path().isEmpty()) {
      return sockets.unix(address.path());
    }
    return new InetSocketAddress(InetAddress.getByName(address.host()), address.port());
  }

  private Throwable refused(@Nullable Throwable fault) {
    if (fault == null) {
      return new ClosedChannelException();
    }
    return address.name().isEmpty()
        ? fault
        : new ConnectException("Connection refused: nobody listens on " + address);
  }

  private void openByUser(OpenChannel open) {
    CompletionStage<SocketChannel> opening;
    try {
      opening = Objects.requireNonNull(open.open(address.bytes().toString()), "no stage");
    } catch (RuntimeException | Error fault) {
      result.completeExceptionally(failed(fault));
      return;
    }
    opening.whenComplete(
        (made, fault) ->
            dialing
                .loop()
                .execute(
                    () -> {
                      if (fault != null) {
                        result.completeExceptionally(failed(fault));
                      } else {
                        register(made);
                      }
                    }));
  }

  private static IOException failed(Throwable fault) {
    Throwable cause =
        fault instanceof CompletionException && fault.getCause() != null ? fault.getCause() : fault;
    return cause instanceof IOException known
        ? known
        : new IOException("the dialer failed: " + cause, cause);
  }

  private void register(@Nullable SocketChannel made) {
    if (made == null || !made.isConnected()) {
      String told = made == null ? "null" : made + ", which is not connected";
      closeQuietly(made);
      result.completeExceptionally(new IOException("the dialer returned " + told));
      return;
    }
    if (result.isDone()) { // nobody waits for it any more
      closeQuietly(made);
      return;
    }
    Channel of;
    try {
      boolean unix = made.getRemoteAddress() instanceof UnixDomainSocketAddress;
      of = unix ? new NioDomainSocketChannel(made) : new NioSocketChannel(made);
    } catch (IOException fault) {
      closeQuietly(made);
      result.completeExceptionally(fault);
      return;
    }
    channel = of;
    of.config().setOption(ChannelOption.ALLOW_HALF_CLOSURE, true);
    of.config().setAutoRead(false); // until there is who reads
    of.pipeline().addLast(this);
    dialing
        .loop()
        .register(of)
        .addListener(
            done -> {
              if (done.isSuccess()) {
                connected();
                of.config().setAutoRead(true);
              } else {
                result.completeExceptionally(new IOException(done.cause()));
              }
            });
  }

  private static void closeQuietly(@Nullable SocketChannel made) {
    try {
      if (made != null) {
        made.close();
      }
    } catch (IOException ignored) {
      // It was of no use before.
    }
  }

  // The handshakes.

  private void connected() {
    Channel channel = this.channel;
    if (channel == null || result.isDone()) {
      close(new ClosedChannelException());
      return;
    }
    TlsSource tls = dialing.tls();
    if (!secure) {
      if (!address.url().isEmpty() && tls != null) {
        String text = "ws:// is cleartext, and TLS is configured: use wss://";
        result.completeExceptionally(new IOException(text));
        return;
      }
      opened(channel);
      return;
    }
    if (tls != null && address.url().isEmpty()) {
      shakeHands(channel, tls);
      return;
    }
    // That of a WebSocket is made for it: files are read, which no loop may wait for.
    Background.run(Background.TLS, () -> (tls == null ? TlsSource.usual() : tls).forWebSocket())
        .whenComplete(
            (own, fault) ->
                onLoop(
                    () -> {
                      if (fault == null) {
                        shakeHands(channel, own);
                      } else {
                        result.completeExceptionally(fault);
                      }
                    }));
  }

  private void shakeHands(Channel channel, TlsSource tls) {
    try {
      tls.handler(
          channel.alloc(), serverName, address.port(), handler -> onLoop(() -> install(handler)));
    } catch (RuntimeException fault) {
      result.completeExceptionally(fault);
    }
  }

  private void onLoop(Runnable work) {
    if (dialing.loop().inEventLoop()) {
      work.run();
    } else {
      dialing.loop().execute(work);
    }
  }

  private void install(SslHandler tls) {
    Channel channel = this.channel;
    if (channel != null && !result.isDone()) {
      tls.setHandshakeTimeoutMillis(0); // the race has timers
      channel.pipeline().addFirst("tls", tls);
    }
  }

  @Override
  public void userEventTriggered(ChannelHandlerContext context, Object event) {
    if (opened) {
      context.fireUserEventTriggered(event);
    } else if (event instanceof SslHandshakeCompletionEvent done) {
      if (done.isSuccess()) {
        opened(context.channel());
      } else {
        // Later: the alert that says why is written behind this event.
        context.executor().execute(() -> result.completeExceptionally(done.cause()));
      }
    } else if (event == ChannelInputShutdownEvent.INSTANCE) {
      // Likewise behind what was read before, which may say why.
      context.executor().execute(() -> result.completeExceptionally(new ClosedChannelException()));
    }
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
    if (opened) {
      context.fireExceptionCaught(cause);
    } else {
      result.completeExceptionally(cause);
    }
  }

  @Override
  public void channelInactive(ChannelHandlerContext context) {
    if (opened) {
      context.fireChannelInactive();
    } else {
      result.completeExceptionally(new ClosedChannelException());
    }
  }

  /** The byte stream is there: the WebSocket is asked for, or the session begins. */
  private void opened(Channel channel) {
    if (!channel.isActive()) {
      result.completeExceptionally(new ClosedChannelException());
      return;
    }
    opened = true;
    if (address.url().isEmpty()) {
      attach(channel);
      return;
    }
    Asking.on(channel, address.url())
        .whenComplete(
            (none, fault) -> {
              if (fault != null) {
                result.completeExceptionally(fault);
              } else {
                attach(channel);
              }
            });
  }

  private void attach(Channel channel) {
    Carrier made =
        Carrier.attach(
            channel,
            dialing.events().get(),
            true,
            dialing.config(),
            dialing.methods(),
            Clock.micros());
    carrier = made;
    channel.pipeline().remove(this);
    Function<Carrier, CompletableFuture<Void>> greeting = dialing.greeting();
    if (greeting == null) {
      finish(made);
      return;
    }
    greeting
        .apply(made)
        .whenComplete(
            (none, fault) -> {
              if (fault != null) {
                result.completeExceptionally(fault);
              } else {
                // What came with the greeting is taken in before: it may turn the client away.
                dialing.loop().execute(() -> greeted(made));
              }
            });
  }

  private void greeted(Carrier made) {
    if (made.session().acceptsCalls() && !made.lost()) {
      finish(made);
    } else {
      String why = made.why().isEmpty() ? "it takes no calls" : made.why();
      result.completeExceptionally(new TurnedAwayException(why));
    }
  }

  private void finish(Carrier made) {
    if (!result.complete(made)) {
      made.abort(GIVEN_UP);
    }
  }
}
