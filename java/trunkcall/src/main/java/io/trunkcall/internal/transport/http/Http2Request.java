package io.trunkcall.internal.transport.http;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelPromise;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2Stream;
import io.trunkcall.internal.wire.UnderWay;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** One request over HTTP/2, and its answer. On the loop. */
final class Http2Request implements HttpStream {
  private static final int MOST_UNSENT = 64 << 10; // of one answer, above which its handler waits

  final int id;
  final Http2Stream stream;
  final Windows.Inbound inbound;
  final Request request;
  private final Http2Line line;
  private final boolean bodiless; // HEAD
  private List<Field> extra = List.of();
  @Nullable Receiver receiver;
  boolean requestEnded;
  boolean answered;
  boolean wasReset; // by this side
  boolean gone; // the stream is closed
  boolean running; // a handler has not returned
  boolean shut; // it does not count any more
  int earned; // of the allowance, by what came
  private boolean expects; // a go-ahead
  private boolean waits; // its handler, for room
  private long held; // beside that
  private boolean letGo; // for want of memory: what it still has is how it says so
  long order; // a lesser one has held something for longer
  private final Leaving leaving = new Leaving();

  Http2Request(Http2Line line, Http2Stream stream, Request request) {
    this.line = line;
    this.stream = stream;
    this.id = stream.id();
    this.inbound = line.windows().opened(stream);
    this.request = request;
    this.bodiless = request.method().equals("HEAD");
    this.expects = request.first("expect").equalsIgnoreCase("100-continue");
  }

  @Override
  public HttpLine line() {
    return line;
  }

  @Override
  public boolean multiplexed() {
    return true;
  }

  @Override
  public void add(Field field) {
    if (extra.isEmpty()) {
      extra = new ArrayList<>(2);
    }
    extra.add(field);
  }

  @Override
  public void head(int status, List<Field> fields, boolean end) {
    if (gone || answered) {
      return;
    }
    Http2Headers headers = new DefaultHttp2Headers(false, fields.size() + 2);
    headers.status(Integer.toString(status));
    put(headers, fields);
    put(headers, extra);
    line.encoder().writeHeaders(line.context(), id, headers, 0, end, line.promise());
    if (end) {
      complete();
    }
    line.schedule();
  }

  private static void put(Http2Headers headers, List<Field> fields) {
    for (Field field : fields) {
      headers.add(field.name(), field.value());
    }
  }

  @Override
  public boolean write(ByteBuf piece) {
    if (gone || answered || bodiless) {
      piece.release();
      return true;
    }
    while (piece.readableBytes() > Leaving.PIECE) {
      write(piece.readRetainedSlice(Leaving.PIECE), false, false);
    }
    write(piece, true, false);
    waits = leaving.unsent() > MOST_UNSENT || line.room().full();
    return !waits;
  }

  /** Writes a piece, the last of its message or not, and of the answer. */
  private void write(ByteBuf piece, boolean last, boolean end) {
    int size = piece.readableBytes();
    ChannelPromise left = line.context().newPromise();
    left.addListener(done -> left(size, last));
    beginsToHold(size);
    leaving.add(size, line.state().now());
    line.room().add(size);
    line.encoder().writeData(line.context(), id, piece, 0, end, left);
    line.earn(Allowance.FOR_DATA);
    line.schedule();
  }

  private void left(int size, boolean last) {
    leaving.left(size, last, line.state().now());
    line.room().add(-size);
    line.share().returnSurplus();
    if (waits && leaving.unsent() <= MOST_UNSENT && !line.room().full()) {
      line.room().giveTo(this);
    }
  }

  @Override
  public void held(long more) {
    beginsToHold(more);
    held += more;
  }

  private void beginsToHold(long more) {
    if (more > 0 && held + leaving.unsent() == 0) {
      order = line.requests().nextHolding();
    }
  }

  /** What it holds in memory, and can let go of. */
  long holds() {
    return letGo ? 0 : held + leaving.unsent();
  }

  /** Ends for want of memory. What was to be sent goes with it. */
  void letGo(Refusal why) {
    letGo = true;
    boolean output = leaving.unsent() > 0;
    if (receiver instanceof HttpCall call && !answered) {
      call.stop(why);
    } else {
      line.config().load().count(false);
    }
    if (output && !gone) {
      reset(Http2Error.ENHANCE_YOUR_CALM);
      stream.close(); // though the reset may be long in leaving
    }
  }

  /** There is room for more. */
  void room() {
    if (waits && leaving.unsent() <= MOST_UNSENT) {
      waits = false;
      if (receiver != null && !gone) {
        receiver.writable();
      }
    }
  }

  @Override
  public void end(@Nullable List<Field> trailers) {
    if (gone || answered) {
      return;
    }
    if (trailers == null) {
      write(Unpooled.EMPTY_BUFFER, true, true);
    } else {
      Http2Headers headers = new DefaultHttp2Headers(false, trailers.size());
      put(headers, trailers);
      line.encoder().writeHeaders(line.context(), id, headers, 0, true, line.promise());
    }
    complete();
    line.schedule();
  }

  private void complete() {
    answered = true;
    line.earn(Allowance.FOR_ANSWER);
    line.requests().answered(this);
  }

  @Override
  public void breakOff() {
    reset(Http2Error.INTERNAL_ERROR);
  }

  /** Resets the stream. */
  void reset(Http2Error why) {
    if (!gone) {
      answered = true;
      wasReset = true;
      line.reset(id, why);
    }
  }

  @Override
  public long mostTrailers() {
    return line.mostTrailers();
  }

  @Override
  public void expect(long length) {
    if (!gone) {
      line.windows().expect(inbound, length);
      line.schedule();
    }
  }

  @Override
  public void consumed(int credit) {
    if (!gone) {
      line.consumed(this, credit);
    }
  }

  @Override
  public void proceed() {
    if (expects && !gone && !answered && !requestEnded) {
      Http2Headers headers = new DefaultHttp2Headers(false, 1).status("100");
      line.encoder().writeHeaders(line.context(), id, headers, 0, false, line.promise());
      line.schedule();
    }
    expects = false;
  }

  @Override
  public void handlerBegan() {
    running = true;
  }

  @Override
  public void handlerReturned() {
    running = false;
    line.requests().leave(this);
  }

  @Override
  public void abandoned() {}

  /** Looks at what takes too long. */
  void tick(long now) {
    if (!gone && leaving.late(now)) {
      if (receiver != null && !answered) {
        receiver.cutOff(UnderWay.LATE);
      }
      reset(Http2Error.ENHANCE_YOUR_CALM);
    } else if (receiver != null) {
      receiver.tick(now);
    }
  }
}
