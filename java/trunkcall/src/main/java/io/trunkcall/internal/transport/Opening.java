package io.trunkcall.internal.transport;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.handler.ssl.SslCloseCompletionEvent;
import io.netty.handler.ssl.SslHandler;
import io.netty.handler.ssl.SslHandshakeCompletionEvent;
import io.netty.util.ReferenceCountUtil;
import io.trunkcall.internal.wire.Preface;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * An accepted connection that has not said what it speaks. Its first bytes tell (http.md 1), or
 * what TLS has negotiated; then another handler takes over, and reads them again.
 */
final class Opening extends ChannelInboundHandlerAdapter {
  /** From accepted to the preface read, with TLS and upgrades, in µs (limits.md 3). */
  static final long HANDSHAKE = 10_000_000;

  static final String CLEARTEXT = "cleartext is refused on this port: use TLS";
  private static final int LOOKED_AT = 64; // bytes of a beginning that protocols are asked about
  private static final int TLS_RECORD = 0x16;
  private static final int NATIVE = 0xF5;
  private static final String NOTHING_SAID = "closed before anything was said";
  private static final String SILENT = "nothing was said in 10 s";
  private static final String HTTP2_CLIENT =
      "a client of gRPC or HTTP/2 came: this port does not serve it";
  private static final String HTTP1_CLIENT = "a client of HTTP came: this port does not serve it";
  private static final String OTHER_ALPN =
      "a client of TLS that does not offer the protocol trunk (ALPN) closed before anything was"
          + " said: it may be one of gRPC or HTTP/2";

  private final Listener listener;
  private final long since;
  private ByteBuf seen = Unpooled.EMPTY_BUFFER;
  private boolean inTls; // its handshake is under way or done
  private boolean handshaken;
  private boolean over; // another handler has it, or it was turned away
  private boolean turnedAway;
  private String remote = "";
  private @Nullable ScheduledFuture<?> timer;
  private @Nullable ChannelHandlerContext context;

  /** {@code since}: when it was accepted. */
  Opening(Listener listener, long since) {
    this.listener = listener;
    this.since = since;
  }

  @Override
  public void handlerAdded(ChannelHandlerContext context) {
    this.context = context;
    remote = listener.remote(context.channel());
    listener.opening.add(this);
    long left = Math.max(since + HANDSHAKE - Clock.micros(), 0);
    timer = context.executor().schedule(() -> tooLong(context), left, TimeUnit.MICROSECONDS);
  }

  /** On its loop: the listener was closed. It counts as native, and is told that we drain. */
  void stop() {
    ChannelHandlerContext context = this.context;
    if (context != null && !over) {
      if (inTls && !handshaken) {
        turnAway(context, "the server is stopping");
      } else {
        speakNatively(context);
      }
    }
  }

  /** Has something done on its loop. */
  void onLoop(Runnable work) {
    if (context != null) {
      context.executor().execute(work);
    }
  }

  @Override
  public void channelRead(ChannelHandlerContext context, Object message) {
    if (over) {
      context.fireChannelRead(message); // to the handler that took over
      return;
    }
    if (message instanceof ByteBuf buffer) {
      seen = seen.isReadable() ? Unpooled.wrappedBuffer(seen, buffer) : buffer;
      if (seen.isReadable() && (!inTls || handshaken)) {
        decide(context);
      }
    } else {
      ReferenceCountUtil.release(message);
      if (message == Carrier.END_OF_INPUT) {
        ended(context);
      }
    }
  }

  @Override
  public void userEventTriggered(ChannelHandlerContext context, Object event) {
    if (over) {
      context.fireUserEventTriggered(event);
    } else if (event instanceof SslHandshakeCompletionEvent done) {
      if (done.isSuccess()) {
        handshaken = true;
        if (seen.isReadable()) {
          decide(context);
        } else {
          serveNegotiated(context);
        }
      } else {
        turnAway(context, "the TLS handshake failed: " + Faults.text(done.cause()));
      }
    } else if (event instanceof ChannelInputShutdownEvent
        || event instanceof SslCloseCompletionEvent) {
      ended(context);
    }
  }

  private void ended(ChannelHandlerContext context) {
    if (inTls && !handshaken) {
      turnAway(context, "the TLS handshake failed: the client closed");
    } else {
      boolean other = handshaken && negotiated(context) == null;
      turnAway(context, other ? OTHER_ALPN : NOTHING_SAID);
    }
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
    if (turnedAway) {
      return; // it is closed; of a handshake that failed this comes behind the event that told so
    }
    if (over) {
      context.fireExceptionCaught(cause);
    } else if (inTls && !handshaken) {
      turnAway(context, "the TLS handshake failed: " + Faults.text(cause));
    } else {
      turnAway(context, "lost before anything was said: " + Faults.text(cause));
    }
  }

  @Override
  public void channelInactive(ChannelHandlerContext context) {
    if (!over) {
      ended(context);
    }
    context.fireChannelInactive();
  }

  private void tooLong(ChannelHandlerContext context) {
    if (over) {
      return;
    }
    if (inTls && !handshaken) {
      turnAway(context, "the TLS handshake took longer than 10 s");
    } else {
      String told = "after 10 s its first bytes " + shown(first()) + " tell no protocol";
      turnAway(context, seen.isReadable() ? told : SILENT);
    }
  }

  // Deciding.

  private byte[] first() {
    int some = Math.min(seen.readableBytes(), LOOKED_AT);
    return ByteBufUtil.getBytes(seen, seen.readerIndex(), some);
  }

  private void decide(ChannelHandlerContext context) {
    byte[] first = first();
    int byte0 = first[0] & 0xFF;
    if (!inTls && byte0 == TLS_RECORD) {
      beginTls(context);
    } else if (!inTls && listener.options.tls() != null && !listener.options.allowCleartext()) {
      refuseCleartext(context, first);
    } else {
      decide(context, first, negotiated(context));
    }
  }

  private void decide(ChannelHandlerContext context, byte[] first, @Nullable String negotiated) {
    int byte0 = first[0] & 0xFF;
    if (!TlsSource.ALPN.equals(negotiated)) {
      for (Protocol protocol : listener.protocols) {
        Protocol.Guess guess = guess(protocol, first, negotiated);
        if (guess == Protocol.Guess.YES) {
          serve(context, () -> protocol.serve(context.channel(), since, listener));
          return;
        }
        if (guess == Protocol.Guess.MORE && first.length < LOOKED_AT) {
          return; // those behind it are not asked yet: what it shares with them is its own
        }
      }
    }
    if (negotiated != null && !negotiated.equals(TlsSource.ALPN)) {
      String told = "the first byte 0x%02x does not begin %s, which TLS has negotiated";
      turnAway(context, told.formatted(byte0, negotiated));
    } else if (byte0 == NATIVE) {
      speakNatively(context);
    } else if (negotiated != null) {
      String told = "the first byte 0x%02x does not begin %s, which TLS has negotiated";
      turnAway(context, told.formatted(byte0, negotiated));
    } else if (begins(first, "PRI ")) {
      tell(context, HTTP2_CLIENT, Told.http("505 HTTP Version Not Supported", HTTP2_CLIENT));
    } else if (isHttp(byte0)) {
      tell(context, HTTP1_CLIENT, Told.http("501 Not Implemented", HTTP1_CLIENT));
    } else {
      turnAway(context, "the first bytes " + shown(first) + " are no protocol served here");
    }
  }

  /** Serves a protocol whose server may speak first. */
  private void serveNegotiated(ChannelHandlerContext context) {
    String negotiated = negotiated(context);
    for (Protocol protocol : listener.protocols) {
      if (protocol.speaksFirst() && protocol.alpn().contains(negotiated)) {
        serve(context, () -> protocol.serve(context.channel(), since, listener));
        return;
      }
    }
  }

  private static Protocol.Guess guess(
      Protocol protocol, byte[] first, @Nullable String negotiated) {
    if (negotiated == null) {
      return protocol.recognize(first);
    }
    return protocol.alpn().contains(negotiated) ? Protocol.Guess.YES : Protocol.Guess.NO;
  }

  private static @Nullable String negotiated(ChannelHandlerContext context) {
    SslHandler tls = context.pipeline().get(SslHandler.class);
    return tls == null ? null : tls.applicationProtocol();
  }

  private static boolean isHttp(int byte0) {
    return byte0 >= 'A' && byte0 <= 'Z';
  }

  private static boolean begins(byte[] first, String with) {
    return new String(first, StandardCharsets.ISO_8859_1).startsWith(with);
  }

  private static String shown(byte[] bytes) {
    StringBuilder text = new StringBuilder("\"");
    for (byte one : bytes) {
      boolean plain = one >= ' ' && one < 0x7F && one != '"' && one != '\\';
      text.append(plain ? String.valueOf((char) one) : "\\x%02x".formatted(one & 0xFF));
    }
    return text.append('"').toString();
  }

  // What comes of it.

  private void beginTls(ChannelHandlerContext context) {
    TlsSource tls = listener.tls;
    if (tls == null) {
      // So that the client's TLS says why it fails.
      byte[] answer = Preface.notServed("this port does not speak TLS");
      tell(context, "a TLS handshake on a port without TLS", Told.with(answer));
      return;
    }
    inTls = true;
    tls.handler(
        context.alloc(),
        "",
        0,
        handler -> {
          if (context.executor().inEventLoop()) {
            install(context, handler);
          } else {
            context.executor().execute(() -> install(context, handler));
          }
        });
  }

  /** Puts TLS before this handler, and gives it what was read. */
  private void install(ChannelHandlerContext context, SslHandler tls) {
    if (over || !context.channel().isActive()) {
      return;
    }
    tls.setHandshakeTimeoutMillis(0); // the timer here is for all of the handshake
    ByteBuf read = seen;
    seen = Unpooled.EMPTY_BUFFER;
    context.pipeline().addBefore(context.name(), "tls", tls);
    context.pipeline().fireChannelRead(read);
    context.pipeline().fireChannelReadComplete();
  }

  private void refuseCleartext(ChannelHandlerContext context, byte[] first) {
    int byte0 = first[0] & 0xFF;
    if (byte0 == NATIVE) {
      long left = Math.max(since + HANDSHAKE - Clock.micros(), 0) / 1_000;
      tell(context, CLEARTEXT, Told.natively(CLEARTEXT, left));
    } else if (Told.undecided(listener.protocols, first)) {
      return;
    } else if (isHttp(byte0)) {
      listener.acceptor.rejected(remote, CLEARTEXT);
      serve(context, () -> refuseHttp(context, first));
    } else {
      turnAway(context, "the first bytes " + shown(first) + " are no protocol served here");
    }
  }

  private void refuseHttp(ChannelHandlerContext context, byte[] first) {
    if (!Told.decline(listener.protocols, context.channel(), first, CLEARTEXT)) {
      context.pipeline().addLast("told", Told.http("400 Bad Request", CLEARTEXT));
    }
  }

  private void speakNatively(ChannelHandlerContext context) {
    serve(context, () -> listener.attach(context.channel(), since));
  }

  private void tell(ChannelHandlerContext context, String why, ChannelHandler told) {
    listener.acceptor.rejected(remote, why);
    serve(context, () -> context.pipeline().addLast("told", told));
  }

  /** Has another handler take over, which reads what was read. */
  private void serve(ChannelHandlerContext context, Runnable takeOver) {
    finish();
    ByteBuf read = seen;
    seen = Unpooled.EMPTY_BUFFER;
    try {
      takeOver.run();
    } catch (RuntimeException | Error fault) {
      read.release();
      context.close();
      throw fault;
    }
    if (read.isReadable()) {
      context.fireChannelRead(read);
      context.fireChannelReadComplete();
    }
    if (!context.isRemoved()) {
      context.pipeline().remove(this);
    }
  }

  private void turnAway(ChannelHandlerContext context, String why) {
    if (!over) {
      finish();
      turnedAway = true;
      listener.acceptor.rejected(remote, why);
      // A failed handshake of TLS is told of before the alert is written.
      context.executor().execute(() -> Carrier.closeAtOnce(context.channel()));
    }
  }

  private void finish() {
    over = true;
    listener.opening.remove(this);
    if (timer != null) {
      timer.cancel(false);
    }
  }

  @Override
  public void handlerRemoved(ChannelHandlerContext context) {
    finish();
    seen.release();
    seen = Unpooled.EMPTY_BUFFER;
  }
}
