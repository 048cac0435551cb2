package io.trunkcall.internal.transport;

import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.handler.codec.DecoderResult;
import io.netty.handler.codec.http.DefaultFullHttpRequest;
import io.netty.handler.codec.http.EmptyHttpHeaders;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.HttpDecoderConfig;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.TooLongHttpHeaderException;
import io.netty.handler.codec.http.TooLongHttpLineException;
import io.netty.handler.codec.http.websocketx.WebSocketDecoderConfig;
import io.netty.handler.codec.http.websocketx.WebSocketServerHandshaker;
import io.netty.handler.codec.http.websocketx.WebSocketServerHandshaker13;
import io.netty.util.ReferenceCountUtil;
import java.net.URI;
import java.net.URISyntaxException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A connection whose client speaks HTTP/1.1. Its first request makes it a WebSocket, or is its last
 * (http.md 4, 8).
 */
final class Upgrading extends ChannelInboundHandlerAdapter {
  private static final int LINE = 8 << 10;
  private static final int HEADER = 32 << 10; // bytes (limits.md 6)
  private static final String CODEC = "http";

  /** WebSockets, as a listener asks for them. */
  static Protocol protocol(Listener listener, List<String> origins) {
    return new Protocol() {
      @Override
      public List<String> alpn() {
        return List.of(TlsSource.ALPN_HTTP1);
      }

      @Override
      public Guess recognize(byte[] first) {
        if (first[0] < 'A' || first[0] > 'Z') {
          return Guess.NO;
        }
        byte[] other = {'P', 'R', 'I', ' '}; // HTTP/2
        for (int at = 0; at < other.length; at++) {
          if (at == first.length) {
            return Guess.MORE;
          }
          if (first[at] != other[at]) {
            return Guess.YES;
          }
        }
        return Guess.NO;
      }

      @Override
      public void serve(Channel channel, long since, Listener of) {
        HttpDecoderConfig limits =
            new HttpDecoderConfig().setMaxInitialLineLength(LINE).setMaxHeaderSize(HEADER);
        channel.pipeline().addLast(CODEC, new HttpServerCodec(limits));
        channel.pipeline().addLast("upgrading", new Upgrading(listener, origins, since));
      }
    };
  }

  /** A request that is not served. */
  private static final class Refused extends Exception {
    private static final long serialVersionUID = 1;
    final transient String status;
    final transient String[] fields;

    Refused(String status, String text, String... fields) {
      super(text, null, false, false);
      this.status = status;
      this.fields = fields;
    }

    String text() {
      return String.valueOf(getMessage());
    }
  }

  private final Listener listener;
  private final List<String> origins;
  private final long since;
  private boolean over;
  private @Nullable ScheduledFuture<?> timer;
  private @Nullable ChannelHandlerContext context;

  Upgrading(Listener listener, List<String> origins, long since) {
    this.listener = listener;
    this.origins = origins;
    this.since = since;
  }

  @Override
  public void handlerAdded(ChannelHandlerContext context) {
    this.context = context;
    listener.upgrading.add(this);
    long left = Math.max(since + Opening.HANDSHAKE - Clock.micros(), 0);
    timer = context.executor().schedule(() -> tooLong(context), left, TimeUnit.MICROSECONDS);
  }

  /** From any thread: the listener was closed. */
  void stop() {
    ChannelHandlerContext context = this.context;
    if (context != null) {
      Refused why = new Refused("503 Service Unavailable", "the server is stopping");
      context.executor().execute(() -> refuse(context, why, false));
    }
  }

  @Override
  public void channelRead(ChannelHandlerContext context, Object message) {
    try {
      if (!over && message instanceof HttpRequest request) {
        answer(context, request);
      }
    } finally {
      ReferenceCountUtil.release(message);
    }
  }

  private void answer(ChannelHandlerContext context, HttpRequest request) {
    try {
      check(request);
    } catch (Refused why) {
      refuse(context, why, request.method().equals(HttpMethod.HEAD));
      return;
    }
    finish();
    WebSocketDecoderConfig limits =
        WebSocketDecoderConfig.newBuilder()
            .maxFramePayloadLength(WebSocket.FRAME)
            .allowExtensions(false)
            .withUTF8Validator(false)
            .build();
    WebSocketServerHandshaker handshaker =
        new WebSocketServerHandshaker13("", TlsSource.ALPN, limits);
    FullHttpRequest whole =
        new DefaultFullHttpRequest(
            request.protocolVersion(),
            request.method(),
            request.uri(),
            Unpooled.EMPTY_BUFFER,
            request.headers(),
            EmptyHttpHeaders.INSTANCE);
    Channel channel = context.channel();
    channel.pipeline().addLast("websocket", new WebSocket());
    handshaker
        .handshake(channel, whole)
        .addListener(
            done -> {
              if (done.isSuccess()) {
                listener.attach(channel, since);
                context.pipeline().remove(this);
              } else {
                listener.acceptor.rejected(
                    listener.remote(channel), "no WebSocket: " + Faults.text(done.cause()));
                Carrier.closeAtOnce(channel);
              }
            });
  }

  @Override
  public void channelInactive(ChannelHandlerContext context) {
    turnAway(context, "closed within a request of HTTP");
    context.fireChannelInactive();
  }

  @Override
  public void userEventTriggered(ChannelHandlerContext context, Object event) {
    if (event instanceof ChannelInputShutdownEvent) {
      turnAway(context, "closed within a request of HTTP");
    }
    context.fireUserEventTriggered(event);
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
    turnAway(context, "within a request of HTTP: " + Faults.text(cause));
  }

  private void tooLong(ChannelHandlerContext context) {
    turnAway(context, "no request in 10 s");
  }

  private void turnAway(ChannelHandlerContext context, String why) {
    if (!over) {
      finish();
      listener.acceptor.rejected(listener.remote(context.channel()), why);
      Carrier.closeAtOnce(context.channel());
    }
  }

  private void refuse(ChannelHandlerContext context, Refused why, boolean headOnly) {
    if (over) {
      return;
    }
    finish();
    String remote = listener.remote(context.channel());
    String told = why.status.substring(0, 3) + " to a request of HTTP: " + why.text();
    listener.acceptor.rejected(remote, told);
    byte[] answer = Told.httpAnswer(why.status, why.text(), why.fields);
    if (headOnly) {
      answer = Told.headOf(answer);
    }
    context.pipeline().addLast("told", Told.with(answer, CODEC));
    context.pipeline().remove(this);
  }

  private void finish() {
    over = true;
    listener.upgrading.remove(this);
    if (timer != null) {
      timer.cancel(false);
    }
  }

  @Override
  public void handlerRemoved(ChannelHandlerContext context) {
    finish();
  }

  // Whether a request may become a WebSocket.

  private void check(HttpRequest request) throws Refused {
    checkDecoded(request.decoderResult());
    if (!request.protocolVersion().equals(HttpVersion.HTTP_1_1)) {
      String text = printable(request.protocolVersion().text()) + " is not served on this port";
      throw new Refused("505 HTTP Version Not Supported", text);
    }
    if (!request.method().equals(HttpMethod.GET)) {
      String text = "over HTTP this port serves WebSockets only, with the sub-protocol trunk";
      throw new Refused("405 Method Not Allowed", text, "Allow: GET");
    }
    HttpHeaders headers = request.headers();
    String host = once(headers, HttpHeaderNames.HOST);
    String origin = once(headers, HttpHeaderNames.ORIGIN);
    String version = once(headers, HttpHeaderNames.SEC_WEBSOCKET_VERSION);
    if (host == null) {
      throw new Refused("400 Bad Request", "the field Host is missing");
    }
    if (!listed(headers, HttpHeaderNames.UPGRADE).contains("websocket")) {
      String text =
          "this port serves Trunkcall: natively, or in a WebSocket with the sub-protocol trunk";
      throw new Refused("426 Upgrade Required", text, "Upgrade: websocket");
    }
    if (!"13".equals(version)) {
      String text = "WebSockets are served in version 13 only";
      throw new Refused(
          "426 Upgrade Required", text, "Upgrade: websocket", "Sec-WebSocket-Version: 13");
    }
    if (!listed(headers, HttpHeaderNames.CONNECTION).contains("upgrade")
        || once(headers, HttpHeaderNames.SEC_WEBSOCKET_KEY) == null) {
      throw new Refused("400 Bad Request", "Connection: Upgrade or Sec-WebSocket-Key is missing");
    }
    if (!listed(headers, HttpHeaderNames.SEC_WEBSOCKET_PROTOCOL).contains(TlsSource.ALPN)) {
      String text = "WebSockets are served with the sub-protocol trunk only";
      throw new Refused("400 Bad Request", text);
    }
    if (origin != null && !origin.isEmpty() && !allows(origins, origin, host)) {
      String text = "pages of " + printable(origin) + " may open no WebSockets here";
      throw new Refused("403 Forbidden", text);
    }
  }

  private static void checkDecoded(DecoderResult result) throws Refused {
    if (result.isSuccess()) {
      return;
    }
    Throwable cause = result.cause();
    if (cause instanceof TooLongHttpLineException) {
      throw new Refused("414 URI Too Long", "the request line is longer than 8 KiB");
    }
    if (cause instanceof TooLongHttpHeaderException) {
      String text = "the header is longer than 32,768 bytes";
      throw new Refused("431 Request Header Fields Too Large", text);
    }
    String text = "the request is malformed: " + printable(String.valueOf(cause.getMessage()));
    throw new Refused("400 Bad Request", text);
  }

  private static @Nullable String once(HttpHeaders headers, CharSequence name) throws Refused {
    List<String> all = headers.getAll(name);
    if (all.size() > 1) {
      throw new Refused("400 Bad Request", "the field " + name + " is repeated");
    }
    return all.isEmpty() ? null : all.get(0);
  }

  /** The members of a list in a field, which may stand several times, in small letters. */
  private static List<String> listed(HttpHeaders headers, CharSequence name) {
    List<String> found = new ArrayList<>();
    for (String value : headers.getAll(name)) {
      for (String one : value.split(",", -1)) {
        found.add(one.trim().toLowerCase(Locale.ROOT));
      }
    }
    return found;
  }

  private static String printable(String text) {
    String shortened = text.length() > 200 ? text.substring(0, 200) : text;
    return shortened.replaceAll("[^\\x20-\\x7E]", "?");
  }

  /**
   * Whether a page of {@code origin} may open WebSockets at {@code host}: one of the same host and
   * port, or one of {@code origins}, of which "*" is all.
   */
  static boolean allows(List<String> origins, String origin, String host) {
    for (String one : origins) {
      if (one.equals("*") || one.equalsIgnoreCase(origin)) {
        return true;
      }
    }
    try {
      String own = new URI(origin).getRawAuthority();
      return own != null && own.equalsIgnoreCase(host);
    } catch (URISyntaxException fault) {
      return false;
    }
  }
}
