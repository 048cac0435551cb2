package io.trunkcall.internal.transport;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.handler.codec.http.websocketx.BinaryWebSocketFrame;
import io.netty.handler.codec.http.websocketx.CloseWebSocketFrame;
import io.netty.handler.codec.http.websocketx.ContinuationWebSocketFrame;
import io.netty.handler.codec.http.websocketx.PingWebSocketFrame;
import io.netty.handler.codec.http.websocketx.PongWebSocketFrame;
import io.netty.handler.codec.http.websocketx.TextWebSocketFrame;
import io.netty.handler.codec.http.websocketx.WebSocketCloseStatus;
import io.netty.handler.codec.http.websocketx.WebSocketFrame;
import io.netty.handler.ssl.SslCloseCompletionEvent;
import io.netty.util.ReferenceCountUtil;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A WebSocket whose handshake is done (protocol.md 13): between the frames of Netty's codec and the
 * bytes of a connection. There is no half-close.
 */
final class WebSocket extends ChannelDuplexHandler {
  /** Bytes of payload in a frame, at most (limits.md 1). */
  static final int FRAME = 256 << 10;

  private static final long LINGER = 1; // s for the peer to answer a close

  // What a peer may bring beside content: headers of frames, PING, PONG, empty frames (limits.md
  // 1).
  private static final int HEADER = 6; // bytes, with a mask
  private static final long USELESS_AT_ONCE = 32 << 10;
  private static final long USELESS_PER_SECOND = 8 << 10;
  private static final long USELESS_PER_BYTE = 16; // of content, which earns it

  private static final String FLOOD = "too many frames or PINGs without content";
  private static final String TEXT = "a text message, where only binary ones are";
  private static final String EARLY = "something was sent before the handshake was answered";

  private WebSocketCloseStatus status = WebSocketCloseStatus.NORMAL_CLOSURE;
  private boolean closing; // nothing more is sent, nor given to the connection
  private boolean inputEnded; // without a close
  private @Nullable ByteBuf pong; // to be sent once there is room
  private @Nullable ScheduledFuture<?> timer;
  private long useless = USELESS_AT_ONCE; // bytes that may still come
  private long creditedAt = Clock.micros();

  /** Has a close say that the peer took too long to begin, or began with something else. */
  void neverBegan(boolean tooLate) {
    status = tooLate ? WebSocketCloseStatus.POLICY_VIOLATION : WebSocketCloseStatus.PROTOCOL_ERROR;
  }

  @Override
  public void channelRead(ChannelHandlerContext context, Object message) {
    if (closing) {
      if (message instanceof CloseWebSocketFrame) {
        context.close(); // the peer has answered, or closes too
      }
      ReferenceCountUtil.release(message);
    } else if (message instanceof WebSocketFrame frame && isFlood(frame)) {
      frame.release();
      end(context, WebSocketCloseStatus.POLICY_VIOLATION, FLOOD);
    } else if (message instanceof BinaryWebSocketFrame
        || message instanceof ContinuationWebSocketFrame) {
      context.fireChannelRead(((WebSocketFrame) message).content());
    } else if (message instanceof PingWebSocketFrame ping) {
      answer(context, ping.content());
    } else {
      ReferenceCountUtil.release(message);
      if (message instanceof CloseWebSocketFrame) {
        end(context, WebSocketCloseStatus.NORMAL_CLOSURE, "");
        context.close(); // behind the answer: the handshake of closing is done
      } else if (message instanceof TextWebSocketFrame) {
        end(context, WebSocketCloseStatus.INVALID_MESSAGE_TYPE, TEXT);
      } else if (message instanceof ByteBuf) { // sent before the handshake was answered
        end(context, WebSocketCloseStatus.PROTOCOL_ERROR, EARLY);
      }
    }
  }

  /** Whether a frame is one too many of those that bring nothing. */
  private boolean isFlood(WebSocketFrame frame) {
    int length = frame.content().readableBytes();
    if (frame instanceof BinaryWebSocketFrame || frame instanceof ContinuationWebSocketFrame) {
      useless = Math.min(useless + length * USELESS_PER_BYTE, USELESS_AT_ONCE) - HEADER;
    } else {
      useless -= HEADER + length;
    }
    if (useless < 0) {
      long now = Clock.micros();
      long earned = (now - creditedAt) * USELESS_PER_SECOND / 1_000_000;
      creditedAt = now;
      useless += Math.min(earned, USELESS_AT_ONCE);
    }
    return useless < 0;
  }

  /** The peer has closed, or has to be closed for what it sent: the end of both directions. */
  private void end(ChannelHandlerContext context, WebSocketCloseStatus status, String why) {
    closing = true;
    linger(context);
    boolean ours = !status.equals(WebSocketCloseStatus.NORMAL_CLOSURE);
    context.writeAndFlush(new CloseWebSocketFrame(status, ours ? why : status.reasonText()));
    Carrier carrier = context.pipeline().get(Carrier.class);
    if (ours && carrier != null && carrier.why().isEmpty()) {
      carrier.why("the WebSocket was closed with " + status.code() + ": " + why);
    }
    context.fireUserEventTriggered(ChannelInputShutdownEvent.INSTANCE);
  }

  /** The socket ends: nobody answers a close any more. */
  @Override
  public void userEventTriggered(ChannelHandlerContext context, Object event) {
    if (event instanceof ChannelInputShutdownEvent || event instanceof SslCloseCompletionEvent) {
      inputEnded = true;
      if (closing) {
        context.close();
      }
    }
    context.fireUserEventTriggered(event);
  }

  /** One PONG answers all the PINGs before it (RFC 6455 5.5.3). */
  private void answer(ChannelHandlerContext context, ByteBuf content) {
    if (context.channel().isWritable()) {
      context.writeAndFlush(new PongWebSocketFrame(content));
    } else {
      ReferenceCountUtil.release(pong);
      pong = content;
    }
  }

  @Override
  public void channelWritabilityChanged(ChannelHandlerContext context) {
    ByteBuf content = pong;
    if (content != null && context.channel().isWritable()) {
      pong = null;
      if (closing) {
        content.release();
      } else {
        context.writeAndFlush(new PongWebSocketFrame(content));
      }
    }
    context.fireChannelWritabilityChanged();
  }

  @Override
  public void write(ChannelHandlerContext context, Object message, ChannelPromise promise) {
    if (message instanceof ByteBuf bytes && bytes.isReadable()) {
      if (closing) { // the peer has closed, and what it sent before is being taken in
        bytes.release();
        if (!promise.isVoid()) {
          promise.trySuccess();
        }
        return;
      }
      context.write(new BinaryWebSocketFrame(bytes), promise);
    } else {
      context.write(message, promise);
    }
  }

  /** Begins the closing handshake behind what was written; what still comes is discarded. */
  @Override
  public void close(ChannelHandlerContext context, ChannelPromise promise) {
    if (!context.channel().isActive()) {
      context.close(promise);
      return;
    }
    if (!closing) {
      closing = true;
      linger(context);
      context.writeAndFlush(new CloseWebSocketFrame(status));
    }
    if (inputEnded) {
      context.close();
    }
    context.channel().closeFuture().addListener(done -> promise.trySuccess());
  }

  private void linger(ChannelHandlerContext context) {
    if (timer == null) {
      timer = context.executor().schedule(() -> over(context), LINGER, TimeUnit.SECONDS);
    }
  }

  private static void over(ChannelHandlerContext context) {
    context.close();
  }

  @Override
  public void handlerRemoved(ChannelHandlerContext context) {
    if (timer != null) {
      timer.cancel(false);
    }
    ReferenceCountUtil.release(pong);
    pong = null;
  }
}
