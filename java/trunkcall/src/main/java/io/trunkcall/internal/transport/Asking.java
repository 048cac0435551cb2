package io.trunkcall.internal.transport;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpClientCodec;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.websocketx.WebSocketClientHandshaker;
import io.netty.handler.codec.http.websocketx.WebSocketClientHandshaker13;
import io.netty.handler.codec.http.websocketx.WebSocketHandshakeException;
import io.netty.handler.codec.http.websocketx.WebSocketVersion;
import io.netty.util.ReferenceCountUtil;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletableFuture;

/** The client's side of a WebSocket's handshake. */
final class Asking extends ChannelInboundHandlerAdapter {
  private static final int ANSWER = 64 << 10; // bytes of an answer that refuses

  private final String url;
  private final WebSocketClientHandshaker handshaker;
  private final CompletableFuture<Void> answered = new CompletableFuture<>();

  private Asking(String url) {
    this.url = url;
    this.handshaker =
        new WebSocketClientHandshaker13(
            URI.create(url),
            WebSocketVersion.V13,
            TlsSource.ALPN,
            false,
            new DefaultHttpHeaders(),
            WebSocket.FRAME,
            true,
            false,
            -1);
  }

  /**
   * Asks for a WebSocket on a channel. The result is completed on its loop before anything is read
   * behind the answer; fails with an IOException.
   */
  static CompletableFuture<Void> on(Channel channel, String url) {
    Asking asking = new Asking(url);
    channel.pipeline().addLast("http", new HttpClientCodec());
    channel.pipeline().addLast("answer", new HttpObjectAggregator(ANSWER));
    channel.pipeline().addLast("asking", asking);
    asking.handshaker.handshake(channel);
    return asking.answered;
  }

  @Override
  public void channelRead(ChannelHandlerContext context, Object message) {
    if (!(message instanceof FullHttpResponse response)) {
      context.fireChannelRead(message);
      return;
    }
    try {
      judge(context, response);
    } catch (IOException | RuntimeException fault) {
      answered.completeExceptionally(fault);
      Carrier.closeAtOnce(context.channel());
    } finally {
      ReferenceCountUtil.release(message);
    }
  }

  private void judge(ChannelHandlerContext context, FullHttpResponse response) throws IOException {
    if (!response.decoderResult().isSuccess()) {
      throw new IOException("no WebSocket: the answer is none of HTTP/1.1");
    }
    if (!response.status().equals(HttpResponseStatus.SWITCHING_PROTOCOLS)) {
      String why = reason(response);
      throw new IOException(
          "the server answers %s where a WebSocket was asked for%s"
              .formatted(response.status(), why.isEmpty() ? "" : ": " + why));
    }
    if (!TlsSource.ALPN.equals(response.headers().get(HttpHeaderNames.SEC_WEBSOCKET_PROTOCOL))) {
      throw new IOException(
          "the WebSocket at %s does not speak the sub-protocol \"trunk\"".formatted(url));
    }
    try {
      handshaker.finishHandshake(context.channel(), response);
    } catch (WebSocketHandshakeException fault) {
      throw new IOException("no WebSocket: " + fault.getMessage(), fault);
    }
    context.pipeline().addLast("websocket", new WebSocket());
    answered.complete(null);
    context.pipeline().remove(this);
  }

  @Override
  public void userEventTriggered(ChannelHandlerContext context, Object event) {
    if (event == ChannelInputShutdownEvent.INSTANCE) {
      ended();
    }
    context.fireUserEventTriggered(event);
  }

  @Override
  public void channelInactive(ChannelHandlerContext context) {
    ended();
    context.fireChannelInactive();
  }

  private void ended() {
    answered.completeExceptionally(
        new IOException("no answer to the request for a WebSocket: closed"));
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
    answered.completeExceptionally(
        new IOException("no answer to the request for a WebSocket: " + Faults.text(cause), cause));
    Carrier.closeAtOnce(context.channel());
  }

  /** The line of text with which a server says why it refuses, if there is one. */
  private static String reason(FullHttpResponse response) {
    String type = response.headers().get(HttpHeaderNames.CONTENT_TYPE, "");
    String text = response.content().toString(StandardCharsets.UTF_8);
    String line = text.lines().findFirst().orElse("").strip();
    boolean printable = line.length() <= 200 && line.chars().noneMatch(Character::isISOControl);
    return type.startsWith("text/plain") && printable && line.indexOf('\uFFFD') < 0 ? line : "";
  }
}
