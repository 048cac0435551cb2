package io.trunkcall.internal.transport.http;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.channel.socket.DuplexChannel;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.handler.ssl.SslCloseCompletionEvent;
import io.netty.handler.ssl.SslHandler;
import io.netty.util.ReferenceCountUtil;
import io.trunkcall.Code;
import io.trunkcall.internal.transport.Faults;
import io.trunkcall.internal.transport.Listener;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** A connection of HTTP/1.1 that is served: one request after the other. Its loop owns it. */
final class Http1Line extends ChannelInboundHandlerAdapter implements ServedLine {
  private static final int AHEAD = 64 << 10; // bytes of a body that nobody has taken
  private static final int INBOX = 16; // parts of requests that wait for the one before
  private static final long HEADER = 10_000_000; // µs from a header's first byte (limits.md 6)
  private static final long IDLE = 15 * 60_000_000L; // µs without a request
  private static final long REST = 1 << 20; // bytes behind an answer
  private static final long REST_TIME = 60_000_000; // µs for them
  private static final long REST_OF_STREAM = 1_000_000; // µs, where the method takes many requests
  private static final long INTERRUPT = 100_000; // µs for what waits when its call is stopped
  private static final int LINGER = 1; // s in which what still comes is read at the end

  private final LineState state;
  private final Http1Output output;
  private final Channel channel;
  private final HttpConfig config;
  private final Http1.Codec codec;
  private final Listener listener;
  private final Router router;
  private final ArrayDeque<HttpObject> inbox = new ArrayDeque<>();

  private @Nullable Http1Request current;
  private boolean known; // to the layer above
  private boolean closing; // behind the answer that is next, or under way
  private boolean retired;
  private boolean ended; // the channel is being closed
  private boolean aborted; // at once
  private int running;
  private long idleSince;
  private long restUntil; // when what comes behind an answer is enough; 0: nothing does
  private String why = "";

  Http1Line(Channel channel, HttpConfig config, Http1.Codec codec, Listener listener, long since) {
    this.state = new LineState(channel, config, since, this, this::flush);
    this.output = new Http1Output(state);
    this.channel = channel;
    this.config = config;
    this.codec = codec;
    this.listener = listener;
    this.router = new Router(config);
    this.idleSince = since;
  }

  @Override
  public void handlerAdded(ChannelHandlerContext context) {
    state.watch(this::tick, this::failed);
  }

  @Override
  public void handlerRemoved(ChannelHandlerContext context) {
    state.unwatch();
  }

  @Override
  public LineState state() {
    return state;
  }

  Http1Output output() {
    return output;
  }

  private void flush() {
    if (!state.lost) {
      state.share.settle();
      channel.flush();
    }
  }

  // What Netty calls.

  @Override
  public void channelRead(ChannelHandlerContext context, Object message) {
    state.queue.begin();
    if (message instanceof HttpObject part && !ended) {
      inbox.add(part);
      process(context);
    } else {
      ReferenceCountUtil.release(message);
    }
  }

  @Override
  public void channelReadComplete(ChannelHandlerContext context) {
    state.queue.drain();
  }

  private void process(ChannelHandlerContext context) {
    while (!inbox.isEmpty()) {
      HttpObject part = inbox.peek();
      if (part instanceof HttpRequest request) {
        if (current != null || ended || !channel.isWritable()) {
          break;
        }
        inbox.remove();
        if (!known && upgraded(context, request)) {
          return;
        }
        begin(request);
      }
      if (part instanceof HttpContent content) {
        if (!(part instanceof HttpRequest)) {
          inbox.remove();
        }
        body(content);
      }
    }
    readOn();
  }

  /** Hands a request over that asks for a WebSocket. */
  private boolean upgraded(ChannelHandlerContext context, HttpRequest request) {
    if (!request.decoderResult().isSuccess()
        || !request.headers().containsValue(HttpHeaderNames.UPGRADE, "websocket", true)) {
      meet();
      return false;
    }
    channel.pipeline().replace(codec, Http1.CODEC, new HttpServerCodec(Http1.limits(config)));
    listener.upgrade(channel, began());
    context.fireChannelRead(request);
    inbox.forEach(ReferenceCountUtil::release);
    inbox.clear();
    channel.pipeline().remove(this);
    return true;
  }

  private void meet() {
    known = true;
    state.events.connected(this);
  }

  private void begin(HttpRequest said) {
    idleSince = 0;
    restUntil = 0;
    List<Field> fields = new ArrayList<>();
    for (Map.Entry<String, String> one : said.headers()) {
      fields.add(new Field(one.getKey().toLowerCase(Locale.ROOT), one.getValue()));
    }
    boolean whole = said.decoderResult().isSuccess();
    boolean old = said.protocolVersion().equals(HttpVersion.HTTP_1_0);
    long length = whole && !HttpUtil.isTransferEncodingChunked(said) ? Heads.length(said) : -1;
    Request request =
        Request.of(
            said.method().name(),
            said.uri(),
            Heads.text(said, HttpHeaderNames.HOST),
            fields,
            length);
    Http1Request made = new Http1Request(this, request, old);
    current = made;
    if (!HttpUtil.isKeepAlive(said)) {
      closing = true;
    }
    String wrong = whole ? "" : Heads.malformed(said.decoderResult(), config.headerBytes());
    int status = whole ? Heads.checked(said, request, old) : Heads.status(said.decoderResult());
    if (status != 0) {
      closeSoon();
      made.requestEnded = true;
      Answering.text(made, status, wrong.isEmpty() ? Heads.wrong(status) : wrong, Fields.list());
      return;
    }
    made.receiver = router.serve(request, made);
  }

  private void body(HttpContent content) {
    Http1Request one = current;
    try {
      if (one == null) {
        return;
      }
      if (!content.decoderResult().isSuccess()) {
        spoilt(one);
        return;
      }
      ByteBuf bytes = content.content();
      if (one.answered) {
        one.dropped += bytes.readableBytes();
      } else if (bytes.isReadable() && one.receiver != null) {
        one.pending += bytes.readableBytes();
        one.receiver.data(bytes.retain(), bytes.readableBytes());
      }
      if (content instanceof LastHttpContent) {
        one.requestEnded = true;
        if (one.answered) {
          next();
        } else if (one.receiver != null) {
          one.receiver.ended();
        }
      } else if (one.answered && one.dropped > REST) {
        closeBehind();
      }
    } finally {
      ReferenceCountUtil.release(content);
    }
  }

  /** The chunks of a body are malformed. */
  private void spoilt(Http1Request one) {
    closeSoon();
    one.requestEnded = true;
    if (one.receiver instanceof HttpCall call) {
      call.stop(new Refusal(Code.INVALID_ARGUMENT, "the chunks of the body are malformed"));
    }
    if (!one.answered) {
      Answering.text(one, 400, "the chunks of the body are malformed", Fields.list());
    }
  }

  /** Reads as long as what has come is taken. */
  void readOn() {
    Http1Request one = current;
    boolean more = inbox.size() < INBOX && (one == null || one.answered || one.pending < AHEAD);
    if (channel.config().isAutoRead() != more && !ended) {
      channel.config().setAutoRead(more);
    }
  }

  @Override
  public void channelWritabilityChanged(ChannelHandlerContext context) {
    Http1Request one = current;
    if (!channel.isWritable()) {
      return;
    }
    if (one == null) {
      process(context); // a request that waited until the answers before it were taken
    } else if (one.receiver != null && !one.answered) {
      one.receiver.writable();
      schedule();
    }
  }

  @Override
  public void userEventTriggered(ChannelHandlerContext context, Object event) {
    if (event instanceof ChannelInputShutdownEvent || event instanceof SslCloseCompletionEvent) {
      if (ended) {
        channel.close();
      } else if (current == null || !current.answered) {
        abort("closed");
      } else {
        closeBehind();
      }
    }
    context.fireUserEventTriggered(event);
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
    if (state.fault == null && !ended) {
      state.fault = cause;
    }
    Http2.closeAtOnce(channel);
  }

  private void failed(Throwable thrown) {
    if (state.fault == null) {
      state.fault = thrown;
    }
    abort(Faults.text(thrown));
  }

  @Override
  public void channelInactive(ChannelHandlerContext context) {
    state.lost = true;
    ended = true;
    state.unwatch();
    inbox.forEach(ReferenceCountUtil::release);
    inbox.clear();
    Http1Request one = current;
    if (one != null && one.receiver != null && !one.answered) {
      one.receiver.lost("the caller has gone");
    }
    if (known) {
      state.events.disconnected(state.told(why));
    } else {
      listener.turnedAway(remote(), "closed within a request of HTTP");
    }
    state.share.close();
    state.queue.drain();
  }

  @Override
  public long unsent() {
    return output.unsent();
  }

  /** There is one call to end: the one that is there. */
  @Override
  public boolean relieve(@Nullable Object call) {
    Http1Request one = current;
    if (one == null || one == call || state.lost || aborted || state.share.held() + unsent() == 0) {
      return false;
    }
    boolean written = unsent() > 0;
    if (one.receiver instanceof HttpCall made && !one.answered) {
      made.stop(Refusal.full(config.load().memoryFull()));
    } else {
      config.load().count(false);
    }
    if (written) {
      abort(config.load().memoryFull());
    }
    return true;
  }

  // Answers.

  /** Whether an answer says that the connection closes. */
  boolean says(Http1Request one) {
    return closing || retired;
  }

  void closeSoon() {
    closing = true;
  }

  /**
   * The call was stopped. What of its answer the peer does not take soon has its connection closed:
   * it would stand before how the call has ended.
   */
  void stopped() {
    closing = true;
    ChannelFuture left = channel.writeAndFlush(Unpooled.EMPTY_BUFFER);
    if (!left.isDone()) {
      Runnable look =
          () -> {
            if (!left.isDone()) {
              abort("the peer did not take what waited when its call was stopped");
            }
          };
      loop().schedule(look, INTERRUPT, TimeUnit.MICROSECONDS);
    }
  }

  void answered(Http1Request one) {
    if (retired) {
      closing = true;
    }
    if (closing) {
      closeBehind();
    } else if (one.requestEnded) {
      submit(this::next);
    } else {
      boolean streams = one.receiver instanceof HttpCall call && call.takesMany();
      restUntil = state.now() + (streams ? REST_OF_STREAM : REST_TIME);
      readOn();
    }
  }

  private void next() {
    Http1Request one = current;
    if (one == null || !one.answered || !one.requestEnded || ended) {
      return;
    }
    current = null;
    restUntil = 0;
    idleSince = state.now();
    if (closing) {
      closeBehind();
      return;
    }
    ChannelHandlerContext context = channel.pipeline().context(this);
    if (context != null) {
      process(context);
    }
  }

  private void closeBehind() {
    if (!ended) {
      ended = true;
      channel.config().setAutoRead(true);
      Http1Request one = current;
      boolean more = one != null && !one.requestEnded;
      channel
          .writeAndFlush(Unpooled.EMPTY_BUFFER)
          .addListener(done -> loop().execute(more ? this::linger : channel::close));
    }
  }

  /** What is unread at the close would reset the connection, and cost the peer its answer. */
  private void linger() {
    if (channel instanceof DuplexChannel duplex
        && channel.pipeline().get(SslHandler.class) == null) {
      duplex.shutdownOutput();
    }
    loop().schedule((Runnable) channel::close, LINGER, TimeUnit.SECONDS);
  }

  private void tick() {
    long now = state.now();
    Http1Request one = current;
    long head = codec.decoder.since();
    if (!known && now - began() > HEADER) {
      listener.turnedAway(remote(), "no request in 10 s");
      Http2.closeAtOnce(channel);
    } else if (one == null && head != 0 && now - head > HEADER) {
      abort("a header took longer than 10 s");
    } else if (one == null && idleSince != 0 && now - idleSince > IDLE) {
      abort("no request in 15 min");
    } else if (restUntil != 0 && now > restUntil) {
      closeBehind();
    } else if (one != null && one.receiver != null && !one.answered) {
      one.receiver.tick(now);
    }
    String stuck = output.stuck(now);
    if (!stuck.isEmpty()) {
      abort(stuck);
    }
  }

  void running(int more) {
    running += more;
  }

  // As the layers above have it.

  @Override
  public String protocol() {
    return "http/1.1";
  }

  @Override
  public int calls() {
    return Math.max(running, current == null ? 0 : 1);
  }

  @Override
  public void retire() {
    retired = true;
  }

  @Override
  public void drain() {
    if (why.isEmpty()) {
      why = "this side drains";
    }
    closing = true;
    if (current == null && !state.lost) {
      closeBehind();
    }
  }

  @Override
  public void graceOver() {
    if (state.lost) {
      return;
    }
    closing = true;
    Http1Request one = current;
    if (one != null && one.receiver != null && !one.answered) {
      one.receiver.cutOff("the server has been stopped");
    }
    closeBehind();
    flush();
  }

  @Override
  public void abort(String because) {
    if (!state.lost) {
      if (why.isEmpty()) {
        why = because;
      }
      ended = true;
      aborted = true;
      Http2.closeAtOnce(channel);
    }
  }
}
