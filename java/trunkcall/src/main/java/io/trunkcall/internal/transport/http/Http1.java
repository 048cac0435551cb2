package io.trunkcall.internal.transport.http;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.CombinedChannelDuplexHandler;
import io.netty.handler.codec.DecoderResult;
import io.netty.handler.codec.http.HttpDecoderConfig;
import io.netty.handler.codec.http.HttpMessage;
import io.netty.handler.codec.http.HttpRequestDecoder;
import io.netty.handler.codec.http.HttpResponseEncoder;
import io.netty.handler.codec.http.LastHttpContent;
import io.trunkcall.internal.transport.Listener;
import io.trunkcall.internal.transport.Protocol;
import java.util.List;
import java.util.function.LongSupplier;

/** HTTP/1.1 on a server's port (http.md 4). */
public final class Http1 implements Protocol {
  static final String CODEC = "http";

  private final HttpConfig config;

  /** Serves by this configuration. */
  public Http1(HttpConfig config) {
    this.config = config;
  }

  @Override
  public List<String> alpn() {
    return List.of("http/1.1");
  }

  @Override
  public Guess recognize(byte[] first) {
    return first[0] >= 'A' && first[0] <= 'Z' ? Guess.YES : Guess.NO;
  }

  @Override
  public void serve(Channel channel, long since, Listener listener) {
    Codec codec = new Codec(limits(config), config.clock());
    channel.pipeline().addLast(CODEC, codec);
    channel.pipeline().addLast("http1", new Http1Line(channel, config, codec, listener, since));
  }

  static HttpDecoderConfig limits(HttpConfig config) {
    return new HttpDecoderConfig()
        .setMaxInitialLineLength(config.headerBytes())
        .setMaxHeaderSize(config.headerBytes());
  }

  /** Reads requests and writes answers. */
  static final class Codec extends CombinedChannelDuplexHandler<Decoder, HttpResponseEncoder> {
    final Decoder decoder;

    Codec(HttpDecoderConfig limits, LongSupplier clock) {
      this(new Decoder(limits, clock));
    }

    private Codec(Decoder decoder) {
      super(decoder, new HttpResponseEncoder());
      this.decoder = decoder;
    }
  }

  /**
   * Refuses lengths that conflict and fields that go on in the next line, and knows since when
   * something has come in part.
   */
  static final class Decoder extends HttpRequestDecoder {
    private final LongSupplier clock;
    private long since; // 0: nothing has
    private boolean inBody;
    private boolean lineEnded; // what was read of a head ends with a line
    private boolean folded; // a field of the head goes on in the next line

    Decoder(HttpDecoderConfig limits, LongSupplier clock) {
      super(limits);
      this.clock = clock;
    }

    @Override
    protected void handleTransferEncodingChunkedWithContentLength(HttpMessage message) {
      throw new IllegalArgumentException("Transfer-Encoding stands beside Content-Length");
    }

    @Override
    protected void decode(ChannelHandlerContext context, ByteBuf in, List<Object> out)
        throws Exception {
      int from = in.readerIndex();
      int before = out.size();
      super.decode(context, in, out);
      if (!inBody) {
        look(in, from, in.readerIndex());
      }
      for (int at = before; at < out.size(); at++) {
        follow(out.get(at));
      }
      if (!out.isEmpty()) {
        since = 0;
      } else if (since == 0) {
        since = clock.getAsLong();
      }
    }

    /** Looks for lines of a head that begin with a space: the library joins them silently. */
    private void look(ByteBuf in, int from, int end) {
      int at = from;
      while (at < end) {
        byte first = in.getByte(at);
        folded |= lineEnded && (first == ' ' || first == '\t');
        int line = in.indexOf(at, end, (byte) '\n');
        lineEnded = line >= 0;
        at = lineEnded ? line + 1 : end;
      }
    }

    private void follow(Object part) {
      if (part instanceof HttpMessage head) {
        if (folded && head.decoderResult().isSuccess()) {
          head.setDecoderResult(
              DecoderResult.failure(
                  new IllegalArgumentException("a field goes on in the next line")));
        }
        inBody = true;
        folded = false;
        lineEnded = false;
      }
      if (part instanceof LastHttpContent) {
        inBody = false;
      }
    }

    /** Since when a header, or that of a chunk, has come in part; 0: none has. */
    long since() {
      return since;
    }
  }
}
