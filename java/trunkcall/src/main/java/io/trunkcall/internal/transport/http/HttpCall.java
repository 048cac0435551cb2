package io.trunkcall.internal.transport.http;

import io.netty.buffer.ByteBuf;
import io.netty.util.ReferenceCountUtil;
import io.trunkcall.Code;
import io.trunkcall.Delivery;
import io.trunkcall.Metadata;
import io.trunkcall.Status;
import io.trunkcall.internal.transport.Clock;
import io.trunkcall.internal.wire.Exchange;
import io.trunkcall.internal.wire.LimitException;
import io.trunkcall.internal.wire.Message;
import io.trunkcall.internal.wire.MetadataCheck;
import io.trunkcall.internal.wire.Settings;
import io.trunkcall.internal.wire.UnderWay;
import java.util.ArrayDeque;
import java.util.Set;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A call that came as a request of HTTP. It starts when its request is there, or at once if it
 * takes many; messages wait here until the handler takes them, and only then does their credit
 * return.
 */
public final class HttpCall implements Exchange, HttpStream.Receiver {
  private static final int COST = 64; // of a message that waits, beside its bytes
  private static final Settings UNBOUNDED =
      Settings.DEFAULTS.toBuilder()
          .maxMetadataBytes(1 << 20)
          .maxMetadataEntries(1 << 16)
          .maxFrameBody(16_777_215)
          .build();

  /** What a request says of the call that it makes. */
  record Head(
      HttpMethod method,
      Dialect dialect,
      int codec,
      int compression,
      int packs,
      Metadata metadata,
      String authority,
      long deadline) {}

  private record Waiting(Message message, int credit) {}

  private final HttpStream stream;
  private final HttpLine line;
  private final HttpEvents events;
  private final Head head;
  private final Answering answering;
  private final Held held;
  private final Deframer deframer;
  private final @Nullable Base64Groups base64;
  private final ArrayDeque<Waiting> requests = new ArrayDeque<>();
  private final UnderWay underWay = new UnderWay();
  private final @Nullable ScheduledFuture<?> timer;

  private byte @Nullable [] message;
  private int compression;
  private int messages; // that have come
  private int owed; // credit of what has come and lies in no message
  private boolean requestEnded;
  private boolean started;
  private boolean finished;
  private boolean over;
  private @Nullable Object user;

  HttpCall(HttpStream stream, Head head, Answering answering, long length) throws Refusal {
    this.stream = stream;
    this.line = stream.line();
    this.events = line.events();
    this.head = head;
    this.answering = answering;
    this.base64 = head.dialect.base64() ? new Base64Groups() : null;
    this.held = new Held(stream);
    this.deframer =
        new Deframer(held, !head.dialect.plain(), line.config().settings().maxMessage(), length);
    this.timer = head.deadline == 0 ? null : deadline(head.deadline);
    if (head.method.takesOne()) {
      underWay.begin(line.config().now());
    }
  }

  private ScheduledFuture<?> deadline(long at) {
    long left = Math.max(at - Clock.micros(), 0);
    return line.loop()
        .schedule(
            () -> {
              stop(new Refusal(Code.DEADLINE_EXCEEDED, "the deadline has passed"));
              line.schedule();
            },
            left,
            TimeUnit.MICROSECONDS);
  }

  /** Whether its method takes many requests. */
  boolean takesMany() {
    return !head.method.takesOne();
  }

  /** Starts, if it need not wait for its request. */
  void begin() {
    if (!head.method.takesOne()) {
      start();
    } else {
      stream.proceed();
    }
  }

  private void start() {
    if (over) {
      return;
    }
    if (head.deadline != 0 && Clock.micros() >= head.deadline) { // the timer may be late
      stop(new Refusal(Code.DEADLINE_EXCEEDED, "the deadline has passed"));
      return;
    }
    if (!line.config().load().tryStart()) {
      stop(Refusal.full("the server runs as many handlers as it may"));
      return;
    }
    started = true;
    held.clear(); // what the handler has of the request is its own
    stream.handlerBegan();
    events.start(this, head.method);
  }

  // What comes of the request.

  @Override
  public void data(ByteBuf bytes, int credit) {
    try {
      if (!over) {
        take(bytes, credit);
      }
    } catch (Refusal why) {
      stop(why);
    } finally {
      bytes.release();
    }
  }

  private void take(ByteBuf bytes, int credit) throws Refusal {
    owed += credit;
    underWay.pass(bytes.readableBytes());
    ByteBuf in = base64 == null ? bytes : base64.decode(bytes);
    try {
      while (true) {
        Deframer.Framed whole = deframer.take(in);
        if (whole == null) {
          break;
        }
        arrived(whole.flags(), whole.bytes());
        if (over) {
          return;
        }
      }
    } finally {
      if (in != bytes) {
        ReferenceCountUtil.release(in);
      }
    }
    if (head.method.takesOne() || requests.isEmpty()) {
      giveCredit(owed);
      owed = 0;
    }
    if (!head.method.takesOne()) {
      underWay.set(deframer.underWay() && requests.isEmpty(), line.config().now());
    }
  }

  private void arrived(int flags, byte[] bytes) throws Refusal {
    messages++;
    if (flags > 1) {
      Code code = head.dialect.byStatus() ? Code.INVALID_ARGUMENT : Code.INTERNAL;
      throw new Refusal(
          code, "a message has the flags 0x" + Integer.toHexString(flags) + ", which mean nothing");
    }
    if (flags == 1 && head.compression == 0) {
      throw new Refusal(Code.INTERNAL, "a message is compressed, and no encoding says how");
    }
    int in = flags == 1 ? head.compression : 0;
    if (head.method.takesOne()) {
      if (messages > 1) {
        throw new Refusal(Code.UNIMPLEMENTED, "the method takes one request, and more were sent");
      }
      message = bytes;
      compression = in;
      return;
    }
    requests.add(new Waiting(new Message(bytes, in), owed));
    owed = 0;
    held.add(COST);
    events.arrived(this);
  }

  private void giveCredit(int credit) {
    if (credit > 0) {
      stream.consumed(credit);
    }
  }

  @Override
  public void ended() {
    if (over || requestEnded) {
      return;
    }
    requestEnded = true;
    underWay.end();
    try {
      end();
    } catch (Refusal why) {
      stop(why);
    }
  }

  private void end() throws Refusal {
    if (base64 != null) {
      base64.end();
    }
    if (head.dialect.plain()) {
      message = deframer.rest();
      compression = message.length > 0 ? head.compression : 0;
    } else if (deframer.underWay()) {
      throw new Refusal(Code.INVALID_ARGUMENT, "the request is cut off within a message");
    } else if (head.method.takesOne() && messages == 0) {
      throw new Refusal(Code.UNIMPLEMENTED, "the method takes one request, and none was sent");
    }
    if (head.method.takesOne()) {
      start();
    } else {
      events.arrived(this);
    }
  }

  @Override
  public void lost(String why) {
    if (end(true)) {
      if (started) {
        events.stopped(this);
      }
    }
  }

  @Override
  public void writable() {
    if (started && !over) {
      events.writable(this);
    }
  }

  @Override
  public void tick(long now) {
    if (!over && underWay.late(now)) {
      stop(new Refusal(Code.RESOURCE_EXHAUSTED, UnderWay.LATE));
    }
  }

  @Override
  public void cutOff(String why) {
    stop(new Refusal(Code.UNAVAILABLE, why));
  }

  /** Ends the call without its handler. */
  void stop(Refusal why) {
    if (!end(true)) {
      return;
    }
    line.config().load().count(!started);
    events.unserved(head.method.name(), !started, why.code(), why.text());
    if (started) {
      events.stopped(this);
      stream.abandoned();
    }
    answering.end(started ? why.cut() : why.refused(), Metadata.EMPTY);
    line.schedule();
  }

  /** Notes that the call is over. False: it was. */
  private boolean end(boolean unread) {
    if (over) {
      return false;
    }
    over = true;
    if (timer != null) {
      timer.cancel(false);
    }
    if (unread) {
      requests.clear();
    }
    deframer.drop();
    held.clear();
    return true;
  }

  // As those see it who serve it.

  @Override
  public int codec() {
    return head.codec;
  }

  @Override
  public long deadline() {
    return head.deadline;
  }

  @Override
  public Metadata metadata() {
    return head.metadata;
  }

  @Override
  public String authority() {
    return head.authority;
  }

  @Override
  public int attempt() {
    return 0;
  }

  @Override
  public boolean oneway() {
    return false; // its caller waits for the end
  }

  @Override
  public byte @Nullable [] message() {
    return message;
  }

  @Override
  public int compression() {
    return compression;
  }

  @Override
  public boolean accepts(int compression) {
    return head.packs != 0 && head.packs == compression;
  }

  /** The compressions that its answers may be in. Any thread. */
  public Set<Integer> takes() {
    return head.packs == 0 ? Set.of() : Set.of(head.packs);
  }

  /** The name of the protocol. */
  public String protocol() {
    return head.dialect.protocol();
  }

  @Override
  public @Nullable Object user() {
    return user;
  }

  @Override
  public void setUser(@Nullable Object user) {
    this.user = user;
  }

  @Override
  public boolean over() {
    return over;
  }

  @Override
  public boolean requestEnded() {
    return requestEnded && requests.isEmpty();
  }

  @Override
  public @Nullable Message takeMessage() {
    Waiting first = requests.poll();
    if (first == null) {
      if (!over && !requestEnded) {
        stream.proceed();
      }
      return null;
    }
    if (!over) {
      held.less(first.message.length() + COST);
    }
    int credit = first.credit;
    if (requests.isEmpty()) {
      credit += owed;
      owed = 0;
      underWay.set(deframer.underWay() && !requestEnded, line.config().now());
    }
    giveCredit(credit);
    return first.message;
  }

  @Override
  public boolean send(byte[] array, int offset, int length, int compression) {
    return over || answering.send(array, offset, length, compression != 0);
  }

  @Override
  public void sendMetadata(Metadata metadata) {
    MetadataCheck.check(metadata, UNBOUNDED);
    if (!over) {
      answering.early(metadata);
    }
  }

  @Override
  public void finish(byte[] array, int offset, int length, int compression, Metadata trailers) {
    MetadataCheck.check(trailers, UNBOUNDED);
    if (end(false)) {
      answer(array, offset, length, compression, trailers);
    }
    returned();
  }

  /** Gives the answer, if there is memory for it until it has left. */
  private void answer(byte[] array, int offset, int length, int compression, Metadata trailers) {
    try {
      held.add(length);
    } catch (Refusal full) {
      line.config().load().count(false);
      events.unserved(head.method.name(), false, full.code(), full.text());
      answering.end(full.cut(), Metadata.EMPTY);
      return;
    }
    answering.finish(array, offset, length, compression, trailers);
    held.clear(); // from here on it counts as output
  }

  @Override
  public void finish(Status status, Metadata trailers) {
    MetadataCheck.check(trailers, UNBOUNDED);
    if (end(false)) {
      Status told = status.withDelivery(Delivery.EXECUTED);
      if (status.ok() && !head.method.streams()) { // one-way: there is an answer all the same
        answering.finish(Answering.NOTHING, 0, 0, 0, trailers);
      } else {
        answering.end(told, trailers);
      }
    }
    returned();
  }

  @Override
  public void accept() {}

  @Override
  public void refuse(Status status, Metadata trailers) {
    if (end(true)) {
      boolean first = !answering.begun();
      line.config().load().count(first);
      answering.end(
          status.withDelivery(first ? Delivery.REFUSED : Delivery.UNKNOWN), checked(trailers));
    }
    returned();
  }

  private static Metadata checked(Metadata trailers) {
    try {
      MetadataCheck.check(trailers, UNBOUNDED);
      return trailers;
    } catch (LimitException | IllegalArgumentException malformed) {
      return Metadata.EMPTY;
    }
  }

  @Override
  public void fail(Code code, String text) {
    stop(new Refusal(code, text));
  }

  private void returned() {
    if (!finished) {
      finished = true;
      line.config().load().returned();
      stream.handlerReturned();
    }
  }
}
