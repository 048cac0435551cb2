package io.trunkcall.internal.transport.http;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.handler.codec.http2.Http2ConnectionDecoder;
import io.netty.handler.codec.http2.Http2ConnectionEncoder;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2Settings;
import io.netty.handler.codec.http2.Http2Stream;
import io.netty.handler.ssl.SslCloseCompletionEvent;
import io.trunkcall.internal.transport.Clock;
import io.trunkcall.internal.transport.Faults;
import io.trunkcall.internal.wire.Share;
import java.io.IOException;
import java.nio.channels.ClosedChannelException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** A connection of HTTP/2 that is served. Its loop owns it. */
final class Http2Line extends Http2Basis {
  private static final long TICK = 1_000_000; // µs between looks at what takes too long
  private static final long FAREWELL = 1_000_000; // µs for what is said at the end
  static final long HANDSHAKE = 10_000_000; // µs

  private final Allowance allowance;
  private final GuardedReader reader;
  private final Parting parting;
  private final Router router;

  private final Map<Integer, Http2Request> requests = new HashMap<>();
  private final Behind behind = new Behind();
  private final Room room = new Room(this);
  private long holdings; // counts the requests that began to hold something
  private boolean ending; // since the peer does not read
  private int counted; // requests, with handlers that outlive their streams
  private long readAt;
  private long settledAt; // when the peer's SETTINGS had come; 0: not yet
  private long idleSince = Clock.micros();
  private @Nullable ScheduledFuture<?> timer;
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
    super(channel, decoder, encoder, settings, config, since);
    this.reader = reader;
    this.allowance = allowance;
    this.readAt = since;
    this.router = new Router(config);
    this.parting = new Parting(this);
    decoder.frameListener(new Http2Frames(this));
    connection().addListener(new Http2Frames.Streams(this));
  }

  // The connection.

  @Override
  public void handlerAdded(ChannelHandlerContext context) throws Exception {
    this.context = context;
    super.handlerAdded(context);
    events.connected(this);
    decoder()
        .flowController()
        .incrementWindowSize(
            connection().connectionStream(),
            Http2.CONNECTION_WINDOW - Http2.INITIAL_CONNECTION_WINDOW);
    timer = loop.scheduleWithFixedDelay(this::tick, TICK, TICK, TimeUnit.MICROSECONDS);
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
    queue.begin();
    readAt = Clock.micros();
    parting.heard();
    super.channelRead(context, message);
  }

  @Override
  public void channelReadComplete(ChannelHandlerContext context) throws Exception {
    super.channelReadComplete(context);
    queue.drain();
  }

  @Override
  void flush() {
    if (!lost && context != null) {
      share.settle();
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
    if (fault == null && !lost && !(cause instanceof ClosedChannelException)) {
      fault = cause;
    }
    abort(Faults.text(cause));
  }

  @Override
  public void channelInactive(ChannelHandlerContext context) throws Exception {
    lost = true;
    if (timer != null) {
      timer.cancel(false);
    }
    for (Http2Request one : new ArrayList<>(requests.values())) {
      lose(one, "the connection is gone");
    }
    super.channelInactive(context);
    share.close();
    String told = fault == null ? "closed" : Faults.text(fault);
    events.disconnected(parting.why().isEmpty() ? told : parting.why());
    queue.drain();
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
    if (!lost) {
      parting.because(text);
      events.violated(text);
    }
    super.onConnectionError(context, outbound, told == null ? cause : told, told);
    // A peer that does not read would never let the good-bye pass, and the close behind it.
    loop.schedule(() -> Http2.closeAtOnce(context.channel()), FAREWELL, TimeUnit.MICROSECONDS);
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
              "a header list is longer than four times " + config.headerBytes() + " bytes"));
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

  // Requests.

  /** The head of a request has come. */
  void begin(Http2Stream stream, Request request, boolean ended, String tooLarge)
      throws Http2Exception {
    idleSince = 0;
    if (counted >= config.settings().maxCalls()) {
      allowance.spend(1, "refused requests");
      reader.streams.reset(stream.id());
      resetStream(context(), stream.id(), Http2Error.REFUSED_STREAM.code(), promise());
      return;
    }
    Http2Request made = new Http2Request(this, stream, request);
    requests.put(made.id, made);
    counted++;
    made.requestEnded = ended;
    if (!tooLarge.isEmpty()) {
      allowance.spend(1 + (int) (Fields.size(request.fields()) >> 10), "refused requests");
      made.receiver = router.tooLarge(request, made, tooLarge);
    } else if (ended || request.method().equals("POST")) {
      serve(made);
    }
  }

  /** Those other than POST are served when they are whole: a malformed one gets no answer. */
  private void serve(Http2Request one) {
    HttpStream.Receiver receiver = router.serve(one.request, one);
    one.receiver = receiver;
    if (one.requestEnded) {
      receiver.ended();
    }
  }

  @Nullable Http2Request request(int id) {
    return requests.get(id);
  }

  /** Bytes of a body. */
  int data(Http2Request one, ByteBuf data, int padding) {
    int credit = data.readableBytes() + padding;
    if (one.answered) {
      return 0; // no new credit: it is to end
    }
    if (one.receiver == null) {
      return credit;
    }
    if (data.isReadable()) {
      one.earned = Math.min(one.earned + Allowance.FOR_DATA, Allowance.MOST_FORFEIT);
    }
    one.receiver.data(data.retain(), credit);
    return 0;
  }

  void ended(Http2Request one) {
    one.requestEnded = true;
    behind.remove(one);
    if (one.receiver == null) {
      serve(one);
    } else {
      one.receiver.ended();
    }
  }

  /** The peer has reset a request. */
  void reset(Http2Request one) throws Http2Exception {
    if (!one.answered) {
      allowance.spend(one.earned, "requests that were reset");
    }
  }

  /** The stream is closed. */
  void closed(Http2Request one) {
    if (!one.gone) {
      lose(one, "the caller has gone");
    }
  }

  private void lose(Http2Request one, String why) {
    one.gone = true;
    if (one.answered && one.requestEnded && !one.wasReset) {
      reader.streams.ended(one.id);
    } else {
      reader.streams.reset(one.id);
    }
    behind.remove(one);
    requests.remove(one.id);
    if (one.receiver != null && !one.answered) {
      one.receiver.lost(why);
    }
    leave(one);
  }

  /** Lets go of a request that is over and whose handler has returned. */
  void leave(Http2Request one) {
    if (one.gone && !one.running && !one.shut) {
      one.shut = true;
      counted--;
      if (counted == 0) {
        idleSince = Clock.micros();
      }
    }
  }

  void answered(Http2Request one) {
    if (!one.requestEnded) {
      behind.add(one);
    }
  }

  void reset(Http2Request one, Http2Error why) {
    one.wasReset = true;
    resetStream(context(), one.id, why.code(), promise());
    schedule();
  }

  /** An answer is not taken. */
  void stuck(Http2Request one) {
    if (one.receiver != null && !one.answered) {
      one.receiver.cutOff(UnderWay.LATE);
    }
    one.reset(Http2Error.ENHANCE_YOUR_CALM);
  }

  void consumed(Http2Stream stream, int credit) {
    try {
      if (decoder().flowController().consumeBytes(stream, credit)) {
        schedule();
      }
    } catch (Http2Exception e) {
      onError(context(), true, e);
    }
  }

  long mostTrailers() {
    Long most = peerHeaderList;
    return most == null ? Long.MAX_VALUE : most;
  }

  private @Nullable Long peerHeaderList;

  void settings(Http2Settings peer) {
    if (settledAt == 0) {
      settledAt = Clock.micros();
    }
    if (peer.maxHeaderListSize() != null) {
      peerHeaderList = peer.maxHeaderListSize();
    }
  }

  Parting parting() {
    return parting;
  }

  int open() {
    return counted;
  }

  int lastStream() {
    return connection().remote().lastStreamCreated();
  }

  // Output.

  void earn(int some) {
    allowance.earn(some);
  }

  Room room() {
    return room;
  }

  // Memory.

  /** Counts the requests that begin to hold something. */
  long nextHolding() {
    return ++holdings;
  }

  @Override
  public long unsent() {
    return room.unsent();
  }

  @Override
  public boolean relieve(@Nullable Object call) {
    Http2Request longest = null;
    for (Http2Request one : requests.values()) {
      if (one.holds() > 0 && (longest == null || one.order < longest.order)) {
        longest = one;
      }
    }
    if (longest == null) {
      if (room.unsent() >= Share.LEAST && !ending && !lost) {
        ending = true;
        end(Http2Error.ENHANCE_YOUR_CALM, "the peer does not read what it is sent");
      }
      return false;
    }
    if (longest == call) {
      return false;
    }
    longest.letGo(Refusal.full(config.load().memoryFull()));
    schedule();
    return true;
  }

  // Time.

  private void tick() {
    long now = Clock.micros();
    if (settledAt == 0 && now - since > HANDSHAKE) {
      end(Http2Error.ENHANCE_YOUR_CALM, "the preface and SETTINGS took longer than 10 s");
      return;
    }
    String part = reader.late(now);
    if (part != null) {
      end(Http2Error.ENHANCE_YOUR_CALM, part);
      return;
    }
    for (Http2Request one : new ArrayList<>(requests.values())) {
      one.tick(now);
    }
    behind.tick(now);
    parting.tick(now, readAt, idleSince);
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

  void ping(long data) {
    encoder().writePing(context(), false, data, promise());
  }

  void closeBehind() {
    context()
        .writeAndFlush(io.netty.buffer.Unpooled.EMPTY_BUFFER)
        .addListener(done -> context().channel().close());
  }

  List<Http2Request> all() {
    return new ArrayList<>(requests.values());
  }

  // As the layers above have it.

  @Override
  public int calls() {
    return counted;
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
    if (!lost) {
      parting.because(why);
      Http2.closeAtOnce(context().channel());
    }
  }
}
