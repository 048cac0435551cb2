package io.trunkcall.internal.transport;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.channel.socket.DuplexChannel;
import io.netty.handler.ssl.SslCloseCompletionEvent;
import io.netty.handler.ssl.SslHandler;
import io.netty.util.ReferenceCountUtil;
import io.trunkcall.internal.wire.Preface;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Tells a peer that is not served why, in its own protocol, and closes. Behind the answer the
 * output ends, and input is discarded for a while: input that is unread at the close can make TCP
 * throw away what was written last.
 */
final class Told extends ChannelInboundHandlerAdapter {
  static final long LINGER = 1_000; // ms (limits.md 6)
  private static final long DISCARD = 1 << 20; // bytes, likewise

  private static final int MOST_LOOKED_AT = 64; // bytes of a beginning

  private final String text;
  private final long patience; // ms for the peer's preface
  private final byte[] preface = new byte[MOST_LOOKED_AT];
  private int seen; // of the preface
  private byte @Nullable [] answer;
  private long left = DISCARD;
  private boolean answered;
  private @Nullable List<Protocol> others; // what begins like one of these gets its answer
  private @Nullable ScheduledFuture<?> timer;
  private @Nullable String removed; // a handler that is not needed any more

  private Told(String text, long patience, byte @Nullable [] answer) {
    this.text = text;
    this.patience = patience;
    this.answer = answer;
  }

  /** For a native client, which is answered once its preface is there (protocol.md 11.3). */
  static Told natively(String text, long patience) {
    return new Told(text, patience, null);
  }

  /** For one that gets these bytes, whatever it says. */
  static Told with(byte[] answer) {
    return new Told("", 0, answer);
  }

  /** The same; this handler of the pipeline is removed before, so that the bytes go as they are. */
  static Told with(byte[] answer, String removed) {
    Told made = with(answer);
    made.removed = removed;
    return made;
  }

  /** An answer without its body, for HEAD. */
  static byte[] headOf(byte[] answer) {
    String text = new String(answer, StandardCharsets.ISO_8859_1);
    return Arrays.copyOf(answer, text.indexOf("\r\n\r\n") + 4);
  }

  /** For one that there is no place for: in the protocol that it begins with, within 1 s. */
  static Told full(String text, List<Protocol> others) {
    Told made = natively(text, LINGER);
    made.others = others;
    return made;
  }

  /** Whether more is to be seen before one of these protocols is recognised, or none. */
  static boolean undecided(List<Protocol> protocols, byte[] first) {
    for (Protocol protocol : protocols) {
      Protocol.Guess guess = protocol.recognize(first);
      if (guess != Protocol.Guess.NO) {
        return guess == Protocol.Guess.MORE && first.length < MOST_LOOKED_AT;
      }
    }
    return false;
  }

  /** Has the protocol that begins so tell why its peer is not served, if it can. */
  static boolean decline(List<Protocol> protocols, Channel channel, byte[] first, String why) {
    for (Protocol protocol : protocols) {
      if (protocol.recognize(first) == Protocol.Guess.YES) {
        return protocol.decline(channel, why);
      }
    }
    return false;
  }

  /** For a client of HTTP/1.1, or of one that reads it. */
  static Told http(String status, String text, String... fields) {
    return with(httpAnswer(status, text, fields));
  }

  /** An answer of one line, after which the connection closes. */
  static byte[] httpAnswer(String status, String text, String... fields) {
    byte[] body = (text + "\n").getBytes(StandardCharsets.UTF_8);
    StringBuilder head = new StringBuilder("HTTP/1.1 ").append(status).append("\r\n");
    head.append("Content-Type: text/plain; charset=utf-8\r\nContent-Length: ").append(body.length);
    head.append("\r\nConnection: close\r\n");
    for (String field : fields) {
      head.append(field).append("\r\n");
    }
    byte[] all = head.append("\r\n").toString().getBytes(StandardCharsets.ISO_8859_1);
    byte[] whole = Arrays.copyOf(all, all.length + body.length);
    System.arraycopy(body, 0, whole, all.length, body.length);
    return whole;
  }

  @Override
  public void handlerAdded(ChannelHandlerContext context) {
    if (removed != null) {
      context.pipeline().remove(removed);
    }
    if (answer != null) {
      answer(context, answer);
    } else {
      closeAfter(context, patience);
    }
  }

  @Override
  public void channelRead(ChannelHandlerContext context, Object message) {
    try {
      if (message instanceof ByteBuf buffer) {
        take(context, buffer);
      } else if (message == Carrier.END_OF_INPUT) {
        context.close();
      }
    } finally {
      ReferenceCountUtil.release(message);
    }
  }

  private void take(ChannelHandlerContext context, ByteBuf buffer) {
    if (!answered) {
      if (others != null && other(context, others, buffer)) {
        return;
      }
      int some = Math.min(buffer.readableBytes(), Preface.SIZE - seen);
      buffer.readBytes(preface, seen, some);
      seen += some;
      byte[] magic = Preface.magic();
      int known = Math.min(seen, magic.length);
      if (!Arrays.equals(preface, 0, known, magic, 0, known)) {
        context.close();
      } else if (seen == Preface.SIZE) {
        answer(context, Preface.notServed(text));
      }
    }
    left -= buffer.readableBytes();
    if (left < 0) {
      context.close();
    }
  }

  /** Answers one of HTTP, once its version is known. False: it is none. */
  private boolean other(ChannelHandlerContext context, List<Protocol> others, ByteBuf buffer) {
    int some = Math.min(buffer.readableBytes(), preface.length - seen);
    buffer.getBytes(buffer.readerIndex(), preface, seen, some);
    byte[] first = Arrays.copyOf(preface, seen + some);
    if (first.length == 0 || first[0] < 'A' || first[0] > 'Z') {
      return false;
    }
    if (undecided(others, first)) {
      seen += some;
    } else if (decline(others, context.channel(), first, text)) {
      answered = true;
      context.fireChannelRead(Unpooled.wrappedBuffer(Arrays.copyOf(first, seen)));
      context.fireChannelRead(buffer.retain());
      context.fireChannelReadComplete();
      context.pipeline().remove(this);
    } else {
      answer(context, httpAnswer("400 Bad Request", text));
    }
    return true;
  }

  private void answer(ChannelHandlerContext context, byte[] bytes) {
    answered = true;
    closeAfter(context, LINGER);
    context
        .writeAndFlush(Unpooled.wrappedBuffer(bytes))
        .addListener(
            done -> {
              if (context.pipeline().get(SslHandler.class) != null) {
                context.pipeline().get(SslHandler.class).closeOutbound();
              } else if (context.channel() instanceof DuplexChannel duplex) {
                duplex.shutdownOutput();
              } else {
                context.channel().writeAndFlush(Carrier.END_OF_INPUT);
              }
            });
  }

  private void closeAfter(ChannelHandlerContext context, long millis) {
    if (timer != null) {
      timer.cancel(false);
    }
    timer = context.executor().schedule(() -> close(context), millis, TimeUnit.MILLISECONDS);
  }

  private static void close(ChannelHandlerContext context) {
    context.close();
  }

  @Override
  public void userEventTriggered(ChannelHandlerContext context, Object event) {
    if (event instanceof ChannelInputShutdownEvent || event instanceof SslCloseCompletionEvent) {
      context.close(); // the peer has read to the end, or gave up
    }
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
    context.close();
  }

  @Override
  public void handlerRemoved(ChannelHandlerContext context) {
    if (timer != null) {
      timer.cancel(false);
    }
  }
}
