package io.trunkcall.internal.transport.http;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.channel.socket.DuplexChannel;
import io.netty.handler.codec.http2.Http2ConnectionDecoder;
import io.netty.handler.codec.http2.Http2ConnectionEncoder;
import io.netty.handler.codec.http2.Http2ConnectionHandler;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2Settings;
import io.netty.handler.ssl.SslCloseCompletionEvent;
import io.netty.util.ReferenceCountUtil;
import io.trunkcall.internal.transport.Faults;
import io.trunkcall.internal.wire.Share;
import java.io.IOException;
import java.nio.channels.ClosedChannelException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** A connection of HTTP/2 that is served. Its loop owns it. */
final class Http2Line extends Http2ConnectionHandler implements ServedLine, Windows.Says {
  private static final long FAREWELL = 1_000_000; // µs for what is said at the end
  private static final int MOST_DISCARDED = 1 << 20; // bytes behind that (limits.md 2)
  private static final long HANDSHAKE = 10_000_000; // µs

  private final LineState state;
  private final Allowance allowance;
  private final GuardedReader reader;
  private final Windows windows;
  private final Parting parting;
  private final Http2Requests requests;
  private final Room room = new Room(this);

  private boolean ended; // for what the peer did: what it still sends is dropped
  private int discarded; // bytes of that
  private long readAt;
  private long settledAt; // when the peer's SETTINGS had come; 0: not yet
  private @Nullable Long peerHeaderList;
  private @Nullable ChannelHandlerContext context;

  Http2Line(
      Channel channel,
      Http2ConnectionDecoder decoder,
      Http2ConnectionEncoder encoder,
      Http2Settings settings,
      GuardedReader reader,
      Allowance allowance,
      HttpConfig config,
      long since) {
    super(decoder, encoder, settings, true, false);
    this.state = new LineState(channel, config, since, this, this::flush);
    this.reader = reader;
    this.allowance = allowance;
    this.readAt = since;
    this.windows = new Windows(connection(), decoder.flowController(), state.share, config, this);
    this.requests = new Http2Requests(this, reader.streams, allowance);
    this.parting = new Parting(this);
    decoder.frameListener(new Http2Frames(this));
    connection().addListener(Http2Frames.closing(requests));
  }

  @Override
  public LineState state() {
    return state;
  }

  Http2Requests requests() {
    return requests;
  }

  Windows windows() {
    return windows;
  }

  Parting parting() {
    return parting;
  }

  Room room() {
    return room;
  }

  // The connection.

  @Override
  public void handlerAdded(ChannelHandlerContext context) throws Exception {
    this.context = context;
    super.handlerAdded(context);
    state.events.connected(this);
    windows.start();
    state.watch(this::tick, this::failed);
    context.flush();
  }

  ChannelHandlerContext context() {
    ChannelHandlerContext there = context;
    if (there == null) {
      throw new IllegalStateException("the connection is not there yet");
    }
    return there;
  }

  ChannelPromise promise() {
    return context().newPromise();
  }

  @Override
  public void channelRead(ChannelHandlerContext context, Object message) throws Exception {
    if (ended) {
      discard(context, message);
      return;
    }
    state.queue.begin();
    readAt = state.now();
    parting.heard();
    super.channelRead(context, message);
  }

  private void discard(ChannelHandlerContext context, Object message) {
    if (message instanceof ByteBuf bytes) {
      discarded += bytes.readableBytes();
    }
    ReferenceCountUtil.release(message);
    if (discarded > MOST_DISCARDED) {
      Http2.closeAtOnce(context.channel());
    }
  }

  @Override
  public void channelReadComplete(ChannelHandlerContext context) throws Exception {
    super.channelReadComplete(context);
    state.queue.drain();
  }

  private void flush() {
    if (!state.lost && context != null) {
      state.share.settle();
      flush(context);
      parting.look();
    }
  }

  @Override
  public void userEventTriggered(ChannelHandlerContext context, Object event) throws Exception {
    if (event instanceof ChannelInputShutdownEvent || event instanceof SslCloseCompletionEvent) {
      abort("closed");
    }
    super.userEventTriggered(context, event);
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext context, Throwable cause) throws Exception {
    if (cause instanceof IOException) {
      failed(cause);
    } else {
      super.exceptionCaught(context, cause);
    }
  }

  private void failed(Throwable cause) {
    if (state.fault == null && !state.lost && !(cause instanceof ClosedChannelException)) {
      state.fault = cause;
    }
    abort(Faults.text(cause));
  }

  @Override
  public void channelInactive(ChannelHandlerContext context) throws Exception {
    state.lost = true;
    state.unwatch();
    requests.loseAll();
    super.channelInactive(context);
    state.share.close();
    state.events.disconnected(state.told(parting.why()));
    state.queue.drain();
  }

  @Override
  protected void onConnectionError(
      ChannelHandlerContext context,
      boolean outbound,
      Throwable cause,
      @Nullable Http2Exception said) {
    if (cause instanceof IOException) { // of each write that fails with the connection
      failed(cause);
      return;
    }
    Http2Exception told = said;
    String text = String.valueOf(cause.getMessage());
    if (text.startsWith("Header size exceeded") || text.startsWith("Number of small consecutive")) {
      told = GuardedReader.calm(text);
    }
    if (ended || state.lost) {
      return;
    }
    ended = true;
    parting.because(text);
    state.events.violated(text);
    requests.loseAll();
    goAway(lastStream(), told == null ? Http2Error.INTERNAL_ERROR : told.error(), text);
    flush(context);
    linger(context.channel());
  }

  /** What is unread at the close would reset the connection, and cost the peer the good-bye. */
  private void linger(Channel channel) {
    if (channel instanceof DuplexChannel duplex && state.tls == null) {
      channel
          .writeAndFlush(Unpooled.EMPTY_BUFFER)
          .addListener(done -> state.loop.execute(duplex::shutdownOutput));
    }
    state.loop.schedule(() -> Http2.closeAtOnce(channel), FAREWELL, TimeUnit.MICROSECONDS);
  }

  @Override
  protected void onStreamError(
      ChannelHandlerContext context,
      boolean outbound,
      Throwable cause,
      Http2Exception.StreamException said) {
    if (said instanceof Http2Exception.HeaderListSizeException) {
      onConnectionError(
          context,
          outbound,
          cause,
          GuardedReader.calm(
              "a header list is longer than four times " + state.config.headerBytes() + " bytes"));
      return;
    }
    reader.streams.reset(said.streamId());
    if (!outbound) {
      try {
        allowance.spend(1, "malformed requests");
      } catch (Http2Exception full) {
        onConnectionError(context, outbound, full, full);
        return;
      }
    }
    super.onStreamError(context, outbound, cause, said);
  }

  // What requests ask.

  void reset(int id, Http2Error why) {
    resetStream(context(), id, why.code(), promise());
    schedule();
  }

  void consumed(Http2Request one, int credit) {
    windows.fit(one.inbound);
    try {
      if (decoder().flowController().consumeBytes(one.stream, credit)) {
        schedule();
      }
    } catch (Http2Exception e) {
      onError(context(), true, e);
    }
    windows.returned(one.inbound);
  }

  long mostTrailers() {
    Long most = peerHeaderList;
    return most == null ? Long.MAX_VALUE : most;
  }

  void settings(Http2Settings peer) {
    if (settledAt == 0) {
      settledAt = state.now();
    }
    if (peer.maxHeaderListSize() != null) {
      peerHeaderList = peer.maxHeaderListSize();
    }
  }

  /** The last stream that was opened, as far as the peer was not told of fewer. */
  int lastStream() {
    int last = connection().remote().lastStreamCreated();
    return connection().goAwaySent()
        ? Math.min(last, connection().remote().lastStreamKnownByPeer())
        : last;
  }

  void earn(int some) {
    allowance.earn(some);
  }

  // Memory.

  @Override
  public long unsent() {
    return room.unsent();
  }

  @Override
  public boolean relieve(@Nullable Object call) {
    Http2Request longest = requests.longestHeld();
    if (longest == null) {
      if (room.unsent() >= Share.LEAST && !state.lost) {
        end(Http2Error.ENHANCE_YOUR_CALM, "the peer does not read what it is sent");
      }
      return false;
    }
    if (longest == call) {
      return false;
    }
    longest.letGo(Refusal.full(state.config.load().memoryFull()));
    schedule();
    return true;
  }

  // Time.

  private void tick() {
    long now = state.now();
    if (ended) {
      return;
    }
    if (settledAt == 0 && now - state.since > HANDSHAKE) {
      end(Http2Error.ENHANCE_YOUR_CALM, "the preface and SETTINGS took longer than 10 s");
      return;
    }
    String part = reader.late(now);
    if (part != null) {
      end(Http2Error.ENHANCE_YOUR_CALM, part);
      return;
    }
    requests.tick(now);
    parting.tick(now, readAt);
    flush();
  }

  /** Ends the connection for what the peer did. */
  void end(Http2Error error, String text) {
    Http2Exception why = Http2Exception.connectionError(error, "%s", text);
    onConnectionError(context(), true, why, why);
    flush();
  }

  /** Says that no requests above a stream are served. */
  void goAway(int last, Http2Error error, String text) {
    ByteBuf debug = ByteBufUtil.writeUtf8(context().alloc(), text);
    goAway(context(), last, error.code(), debug, promise());
  }

  /** The peer does not read what it is sent. */
  void floods(String text) {
    Http2Exception why = GuardedReader.calm(text);
    onConnectionError(context(), true, why, why);
  }

  @Override
  public void ping(long data) {
    encoder().writePing(context(), false, data, promise());
    schedule();
  }

  @Override
  public void begin(int window) {
    Http2Settings settings = new Http2Settings().initialWindowSize(window);
    encoder().writeSettings(context(), settings, promise());
    schedule();
  }

  void closeBehind() {
    context().writeAndFlush(Unpooled.EMPTY_BUFFER).addListener(done -> context().channel().close());
  }

  // As the layers above have it.

  @Override
  public String protocol() {
    return "h2";
  }

  @Override
  public int calls() {
    return requests.count();
  }

  @Override
  public void retire() {
    drain();
  }

  @Override
  public void drain() {
    parting.drain();
    flush();
  }

  @Override
  public void graceOver() {
    parting.graceOver();
    flush();
  }

  @Override
  public void abort(String why) {
    if (!state.lost) {
      parting.because(why);
      Http2.closeAtOnce(context().channel());
    }
  }
}
