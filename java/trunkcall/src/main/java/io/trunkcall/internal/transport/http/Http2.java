package io.trunkcall.internal.transport.http;

import io.netty.buffer.ByteBufUtil;
import io.netty.channel.Channel;
import io.netty.handler.codec.http2.DefaultHttp2Connection;
import io.netty.handler.codec.http2.DefaultHttp2ConnectionDecoder;
import io.netty.handler.codec.http2.DefaultHttp2ConnectionEncoder;
import io.netty.handler.codec.http2.DefaultHttp2FrameReader;
import io.netty.handler.codec.http2.DefaultHttp2FrameWriter;
import io.netty.handler.codec.http2.DefaultHttp2LocalFlowController;
import io.netty.handler.codec.http2.Http2CodecUtil;
import io.netty.handler.codec.http2.Http2Connection;
import io.netty.handler.codec.http2.Http2ConnectionEncoder;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2PromisedRequestVerifier;
import io.netty.handler.codec.http2.Http2Settings;
import io.trunkcall.internal.transport.Listener;
import io.trunkcall.internal.transport.Protocol;
import java.util.List;

/** HTTP/2 on a server's port (http.md 2): in the clear with prior knowledge, and in TLS. */
public final class Http2 implements Protocol {
  static final int CONNECTION_WINDOW = 4 << 20; // (limits.md 5)

  private static final float WINDOW_UPDATE_RATIO = 0.75f; // a quarter of a window is withheld
  private static final int MOST_CONTROL = 1_024; // frames that a peer does not read

  private final HttpConfig config;
  private final byte[] preface = ByteBufUtil.getBytes(Http2CodecUtil.connectionPrefaceBuf());

  /** Serves by this configuration. */
  public Http2(HttpConfig config) {
    this.config = config;
  }

  @Override
  public List<String> alpn() {
    return List.of("h2");
  }

  @Override
  public Guess recognize(byte[] first) {
    for (int at = 0; at < preface.length; at++) {
      if (at == first.length) {
        return Guess.MORE;
      }
      if (first[at] != preface[at]) {
        return Guess.NO;
      }
    }
    return Guess.YES;
  }

  @Override
  public void serve(Channel channel, long since, Listener listener) {
    try {
      channel.pipeline().addLast("http2", made(channel, since));
    } catch (Http2Exception impossible) {
      throw new IllegalStateException(impossible);
    }
  }

  @Override
  public boolean decline(Channel channel, String why) {
    Http2Connection connection = new DefaultHttp2Connection(true);
    Http2ConnectionEncoder encoder =
        new DefaultHttp2ConnectionEncoder(connection, new DefaultHttp2FrameWriter());
    DefaultHttp2ConnectionDecoder decoder =
        new DefaultHttp2ConnectionDecoder(connection, encoder, new DefaultHttp2FrameReader());
    channel.pipeline().addLast("http2", new Declining(decoder, encoder, new Http2Settings(), why));
    return true;
  }

  private Http2Line made(Channel channel, long since) throws Http2Exception {
    int calls = config.settings().maxCalls();
    Http2Settings settings =
        new Http2Settings()
            .maxConcurrentStreams(calls)
            .initialWindowSize(config.session().window())
            .maxHeaderListSize(config.headerBytes());
    Http2Connection connection = new DefaultHttp2Connection(true);
    connection
        .local()
        .flowController(new DefaultHttp2LocalFlowController(connection, WINDOW_UPDATE_RATIO, true));
    BoundedWriter writer = new BoundedWriter(new DefaultHttp2FrameWriter(), MOST_CONTROL + calls);
    Http2ConnectionEncoder encoder = new DefaultHttp2ConnectionEncoder(connection, writer);
    Allowance allowance = new Allowance(config.clock());
    GuardedReader reader = new GuardedReader(allowance, connection, config);
    DefaultHttp2ConnectionDecoder decoder =
        new DefaultHttp2ConnectionDecoder(
            connection,
            encoder,
            reader,
            Http2PromisedRequestVerifier.ALWAYS_VERIFY,
            true,
            true,
            true);
    Http2Line line =
        new Http2Line(channel, decoder, encoder, settings, reader, allowance, config, since);
    writer.whenFull(line::floods);
    return line;
  }

  /** Closes a channel, past the handlers that would say good-bye before. */
  static void closeAtOnce(Channel channel) {
    channel.unsafe().close(channel.voidPromise());
  }
}
