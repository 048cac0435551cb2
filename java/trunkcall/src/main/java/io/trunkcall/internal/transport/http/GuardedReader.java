package io.trunkcall.internal.transport.http;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http2.DefaultHttp2FrameReader;
import io.netty.handler.codec.http2.DefaultHttp2HeadersDecoder;
import io.netty.handler.codec.http2.Http2Connection;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2FrameListener;
import io.netty.handler.codec.http2.Http2FrameListenerDecorator;
import io.netty.handler.codec.http2.Http2FrameTypes;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2Settings;
import io.netty.handler.codec.http2.Http2Stream;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Reads frames, bounds those without use, and knows what has come in part, and since when. The
 * library's own reader does the reading; this one follows it from frame to frame.
 */
final class GuardedReader extends DefaultHttp2FrameReader {
  private static final int CONTINUATIONS = 64; // of a header block (limits.md 5)
  private static final int HEADER = 9; // bytes of a frame's
  private static final int END_HEADERS = 4;
  private static final long DATA = 60_000_000; // µs for a frame of it
  private static final long OTHERS = 10_000_000; // µs for any other, and for a header block

  final Streams streams = new Streams();
  private final Allowance allowance;
  private final Http2Connection connection;
  private final LongSupplier clock;
  private @Nullable Http2FrameListener told;
  private @Nullable Http2FrameListener guarded;

  // Where the library's reader is.
  private int seen; // bytes of the header of the next frame
  private int length;
  private byte type;
  private int flags;
  private int payload; // bytes that are missing of the frame's
  private boolean waits; // for the rest of a frame
  private boolean inHeaders; // a header block is not whole
  private long since; // when that began which has come in part; 0: nothing has

  /** Reads as the configuration says. */
  GuardedReader(Allowance allowance, Http2Connection connection, HttpConfig config)
      throws Http2Exception {
    super(new Headers(config.headerBytes()), CONTINUATIONS);
    this.allowance = allowance;
    this.connection = connection;
    this.clock = config.clock();
  }

  /** Takes more than the peer was told, so that a request which is too long gets an answer. */
  private static final class Headers extends DefaultHttp2HeadersDecoder {
    private static final int TIMES = 4;

    Headers(int most) throws Http2Exception {
      super(true, (long) TIMES * most, -1);
    }

    @Override
    public void maxHeaderListSize(long max, long goAway) throws Http2Exception {
      super.maxHeaderListSize(TIMES * max, TIMES * max);
    }
  }

  @Override
  public void readFrame(ChannelHandlerContext context, ByteBuf in, Http2FrameListener listener)
      throws Http2Exception {
    if (listener != told) {
      told = listener;
      guarded = new Guard(listener);
    }
    int before = in.readerIndex();
    try {
      super.readFrame(context, in, guarded == null ? listener : guarded);
    } finally {
      follow(in, before);
    }
  }

  private void follow(ByteBuf in, int from) {
    int at = from;
    int end = in.readerIndex();
    while (at < end) {
      if (payload > 0 || seen == HEADER) {
        int some = Math.min(end - at, payload);
        at += some;
        payload -= some;
        if (payload == 0) {
          whole();
        }
        continue;
      }
      byte one = in.getByte(at++);
      if (seen < 3) {
        length = length << 8 | one & 0xFF;
      } else if (seen == 3) {
        type = one;
      } else if (seen == 4) {
        flags = one;
      }
      seen++;
      if (seen == HEADER) {
        payload = length;
        if (payload == 0) {
          whole();
        }
      }
    }
    boolean part = seen > 0 || inHeaders || in.isReadable();
    if (!part) {
      since = 0;
    } else if (since == 0) {
      since = clock.getAsLong();
    }
    waits = part;
  }

  private void whole() {
    boolean headers = type == Http2FrameTypes.HEADERS || type == Http2FrameTypes.CONTINUATION;
    boolean continues = headers && (flags & END_HEADERS) == 0;
    if (!continues) {
      since = 0;
    }
    inHeaders = continues;
    seen = 0;
    length = 0;
  }

  /** What has come in part for too long; null: nothing has. */
  @Nullable String late(long now) {
    if (!waits || since == 0) {
      return null;
    }
    boolean data = seen == HEADER && type == Http2FrameTypes.DATA;
    if (now - since <= (data ? DATA : OTHERS)) {
      return null;
    }
    if (inHeaders || (seen == HEADER && type == Http2FrameTypes.HEADERS)) {
      return "a header block took longer than 10 s";
    }
    return data ? "a frame of DATA took longer than 60 s" : "a frame took longer than 10 s";
  }

  /** Takes from the allowance for frames as they come. */
  private final class Guard extends Http2FrameListenerDecorator {
    Guard(Http2FrameListener listener) {
      super(listener);
    }

    @Override
    public int onDataRead(
        ChannelHandlerContext context, int id, ByteBuf data, int padding, boolean end)
        throws Http2Exception {
      if (data.isReadable()) {
        allowance.earn(Allowance.FOR_DATA);
      } else if (!end) {
        allowance.spend(1, "empty DATA");
      }
      return super.onDataRead(context, id, data, padding, end);
    }

    @Override
    public void onHeadersRead(
        ChannelHandlerContext context, int id, Http2Headers headers, int padding, boolean end)
        throws Http2Exception {
      check(id);
      super.onHeadersRead(context, id, headers, padding, end);
    }

    @Override
    public void onHeadersRead(
        ChannelHandlerContext context,
        int id,
        Http2Headers headers,
        int dependency,
        short weight,
        boolean exclusive,
        int padding,
        boolean end)
        throws Http2Exception {
      check(id);
      super.onHeadersRead(context, id, headers, dependency, weight, exclusive, padding, end);
    }

    private void check(int id) throws Http2Exception {
      Http2Stream stream = connection.stream(id);
      if (stream == null) {
        if (id <= connection.remote().lastStreamCreated()) {
          streams.header(id);
        }
      } else if (!stream.state().remoteSideOpen()) {
        throw Http2Exception.streamError(
            id, Http2Error.STREAM_CLOSED, "HEADERS behind the end of request %d", id);
      }
    }

    @Override
    public void onPriorityRead(
        ChannelHandlerContext context, int id, int dependency, short weight, boolean exclusive)
        throws Http2Exception {
      allowance.spend(1, "PRIORITY");
      super.onPriorityRead(context, id, dependency, weight, exclusive);
    }

    @Override
    public void onRstStreamRead(ChannelHandlerContext context, int id, long code)
        throws Http2Exception {
      allowance.spend(1, "RST_STREAM");
      super.onRstStreamRead(context, id, code);
    }

    @Override
    public void onSettingsRead(ChannelHandlerContext context, Http2Settings settings)
        throws Http2Exception {
      allowance.spend(1, "SETTINGS");
      super.onSettingsRead(context, settings);
    }

    @Override
    public void onPingRead(ChannelHandlerContext context, long data) throws Http2Exception {
      allowance.spend(1, "PING");
      super.onPingRead(context, data);
    }

    @Override
    public void onPingAckRead(ChannelHandlerContext context, long data) throws Http2Exception {
      allowance.spend(1, "PING");
      super.onPingAckRead(context, data);
    }

    @Override
    public void onWindowUpdateRead(ChannelHandlerContext context, int id, int increment)
        throws Http2Exception {
      allowance.spend(1, "WINDOW_UPDATE");
      super.onWindowUpdateRead(context, id, increment);
    }

    @Override
    public void onUnknownFrame(
        ChannelHandlerContext context,
        byte type,
        int id,
        io.netty.handler.codec.http2.Http2Flags flags,
        ByteBuf payload)
        throws Http2Exception {
      allowance.spend(1, "of an unknown type");
      super.onUnknownFrame(context, type, id, flags, payload);
    }
  }

  static Http2Exception calm(String text) {
    return Http2Exception.connectionError(Http2Error.ENHANCE_YOUR_CALM, "%s", text);
  }
}
