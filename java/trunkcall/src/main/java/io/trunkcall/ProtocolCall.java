package io.trunkcall;

import io.trunkcall.internal.transport.Clock;
import io.trunkcall.internal.transport.Line;
import io.trunkcall.internal.wire.LimitException;
import io.trunkcall.internal.wire.Message;
import io.trunkcall.internal.wire.MetadataCheck;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * A call that a user's protocol has handed over. It lives on the loop of its line; the protocol's
 * own functions are called where handlers run, one after the other in each direction.
 */
final class ProtocolCall implements io.trunkcall.internal.wire.Exchange {
  private static final int COST = 64; // of a message that waits, beside its bytes

  /** Something of the protocol's that may wait. */
  private interface Step {
    @Nullable CompletionStage<?> begin() throws Exception;
  }

  final CallFuture<Ending> ended = new CallFuture<>(this::cancelled);

  private final ProtocolEnd end;
  private final Line line;
  private final IncomingCall said;
  private final Exchange exchange;
  private final @Nullable Served served;
  private final long deadline; // µs of Clock, 0: none
  private final ArrayDeque<Message> requests = new ArrayDeque<>();
  private final ArrayDeque<Step> answers = new ArrayDeque<>(); // that wait for the one before
  private @Nullable Object user; // the call as it is served
  private @Nullable ScheduledFuture<?> timer;
  private byte @Nullable [] message; // of a method that takes one
  private long held;
  private boolean receiving;
  private boolean requestEnded;
  private boolean sending;
  private boolean sent; // something of the answer was given to the protocol
  private boolean counted; // as a handler that runs
  private boolean over;
  private @Nullable Ending last; // told behind the answers

  private ProtocolCall(ProtocolEnd end, Line line, IncomingCall said, Exchange exchange) {
    this.end = end;
    this.line = line;
    this.said = said;
    this.exchange = exchange;
    this.served = end.serving.find(said.method());
    Duration timeout = said.timeout();
    long micros = 0;
    if (timeout != null) {
      boolean left = !timeout.isZero() && !timeout.isNegative();
      micros = left ? Checks.timeoutMicros("timeout", timeout) : 1;
    }
    this.deadline = micros == 0 ? 0 : Clock.micros() + micros;
  }

  /** Serves a call. Any thread. */
  static CompletableFuture<Ending> begin(
      ProtocolEnd end, Line line, IncomingCall said, Exchange exchange) {
    ProtocolCall call = new ProtocolCall(end, line, said, exchange);
    line.submit(call::begin);
    return call.ended;
  }

  private void begin() {
    end.add(this);
    Status wrong = refusal();
    if (wrong != null) {
      stop(wrong);
      return;
    }
    if (deadline != 0) {
      long left = Math.max(deadline - Clock.micros(), 0);
      timer = line.loop().schedule(this::late, left, TimeUnit.MICROSECONDS);
    }
    if (served != null && served.kind.takesOne()) {
      receive();
    } else {
      start();
    }
  }

  /** Why the call is not served at all; null if it is. */
  private @Nullable Status refusal() {
    if (end.isOver() || end.server.isStopping()) {
      return Status.of(Code.UNAVAILABLE, "the server is stopping");
    }
    try {
      MetadataCheck.check(said.metadata(), end.server.config().settings());
    } catch (LimitException e) {
      return Status.of(Code.RESOURCE_EXHAUSTED, String.valueOf(e.getMessage()));
    } catch (IllegalArgumentException e) {
      return Status.of(Code.INVALID_ARGUMENT, String.valueOf(e.getMessage()));
    }
    if (served == null) {
      return Status.of(
          Code.UNIMPLEMENTED, "method " + said.method() + " is not served by this server");
    }
    if (said.codec() < 0 || said.codec() > 15 || served.request(said.codec()) == null) {
      return Status.of(
          Code.UNIMPLEMENTED,
          "the messages of this method are not in codec "
              + said.codec()
              + ", only in "
              + served.method.request().carriedBy());
    }
    return null;
  }

  private void start() {
    if (over || served == null) {
      return;
    }
    if (!end.serving.load.tryStart()) {
      stop(Status.of(Code.RESOURCE_EXHAUSTED, "the server runs as many handlers as it may"));
      return;
    }
    counted = true;
    letGo(held); // what the handler has of the request is its own
    end.serve(this, served, end.protocol());
  }

  private void late() {
    stop(Status.of(Code.DEADLINE_EXCEEDED, "the deadline has passed"));
  }

  private void cancelled() {
    line.submit(() -> stop(Status.of(Code.CANCELLED, "the caller is gone")));
  }

  /** Has a function of the protocol's called, and the loop told of what becomes of it. */
  private void step(Step step, BiConsumer<@Nullable Object, @Nullable Throwable> next) {
    try {
      end.serving.executor.execute(() -> run(step, next));
    } catch (Throwable e) { // whatever it is, the call alone ends
      if (!(e instanceof RejectedExecutionException)) {
        end.serving.journal.log(System.Logger.Level.ERROR, "an executor failed", said.method(), e);
      }
      Status why = Status.of(Code.UNAVAILABLE, "the executor of the server takes no more");
      line.submit(() -> next.accept(null, new StatusException(why)));
    }
  }

  private void run(Step step, BiConsumer<@Nullable Object, @Nullable Throwable> next) {
    CompletionStage<?> stage;
    try {
      stage = step.begin();
    } catch (Throwable e) {
      line.submit(() -> next.accept(null, e));
      return;
    }
    if (stage == null) {
      line.submit(() -> next.accept(null, null));
    } else {
      stage.whenComplete(
          (result, error) ->
              line.submit(
                  () -> next.accept(result, error == null ? null : CallFuture.unwrapped(error))));
    }
  }

  // The request.

  private void receive() {
    if (!receiving && !requestEnded && !over) {
      receiving = true;
      step(exchange::receive, this::received);
    }
  }

  private void received(@Nullable Object got, @Nullable Throwable error) {
    receiving = false;
    if (over) {
      return;
    }
    if (error instanceof StatusException own) {
      stop(own.status());
    } else if (error != null) {
      end.serving.journal.log(
          System.Logger.Level.DEBUG, "a request is cut off", said.method(), error);
      stop(Status.of(Code.INVALID_ARGUMENT, "the request is cut off"));
    } else if (got instanceof byte[] bytes) {
      arrived(bytes);
    } else {
      ended();
    }
  }

  private void arrived(byte[] bytes) {
    if (bytes.length > end.mostBytes) {
      stop(
          Status.of(
              Code.RESOURCE_EXHAUSTED,
              "message of " + bytes.length + " bytes exceeds max_message " + end.mostBytes));
      return;
    }
    if (!end.share.holds(bytes.length + COST, this)) {
      stop(Status.of(Code.RESOURCE_EXHAUSTED, end.serving.load.memoryFull()));
      return;
    }
    held += bytes.length + COST;
    if (user != null) {
      requests.add(new Message(bytes, 0));
      ServingEnd.callArrived(this);
    } else if (message == null) {
      message = bytes;
      receive(); // there must be no other
    } else {
      stop(Status.of(Code.UNIMPLEMENTED, "the method takes one request, and more were sent"));
    }
  }

  private void ended() {
    requestEnded = true;
    if (user != null) {
      ServingEnd.callArrived(this);
    } else if (message == null) {
      stop(Status.of(Code.UNIMPLEMENTED, "the method takes one request, and none was sent"));
    } else {
      start();
    }
  }

  private void letGo(long bytes) {
    held -= bytes;
    end.share.letGo(bytes);
  }

  /** Bytes that the call holds of the server's memory. */
  long held() {
    return held;
  }

  // The answer.

  private void answer(Step step) {
    answers.add(step);
    next();
  }

  private void next() {
    if (sending) {
      return;
    }
    Step step = answers.poll();
    if (step != null) {
      sending = true;
      sent = true;
      step(step, this::passed);
    } else if (last != null) {
      tell(last);
      last = null;
    }
  }

  private void passed(@Nullable Object nothing, @Nullable Throwable error) {
    sending = false;
    if (error != null) {
      answers.clear();
      if (over) {
        Ending told = last;
        last = null;
        if (told != null) {
          tell(new Ending(Status.of(Code.CANCELLED, "the answer cannot be sent"), Metadata.EMPTY));
        }
      } else {
        stop(Status.of(Code.CANCELLED, "the answer cannot be sent"));
      }
      return;
    }
    next();
    if (!sending && !over) {
      ServingEnd.callWritable(this);
    }
  }

  private void tell(Ending ending) {
    end.remove(this);
    try {
      end.serving.executor.execute(() -> ended.complete(ending)); // users' code follows
    } catch (Throwable e) { // nobody else is there to tell it
      ended.complete(ending);
    }
  }

  // Its end.

  /** Ends the call without its handler, which may run on, or has returned. */
  void stop(Status why) {
    if (!finishes()) {
      if (last != null) { // the protocol has not taken the answer, and may never
        answers.clear();
        last = null;
        tell(new Ending(why.withDelivery(Delivery.UNKNOWN), Metadata.EMPTY));
      }
      return;
    }
    boolean started = user != null;
    requests.clear();
    answers.clear();
    end.serving.load.count(!started);
    end.tellUnserved(said.method(), !started, why.code(), why.message());
    ServingEnd.callStopped(this);
    tell(
        new Ending(
            why.withDelivery(started ? Delivery.UNKNOWN : Delivery.REFUSED), Metadata.EMPTY));
  }

  /** Notes that the call is over. False: it was. */
  private boolean finishes() {
    if (over) {
      return false;
    }
    over = true;
    if (timer != null) {
      timer.cancel(false);
    }
    letGo(held);
    return true;
  }

  private void returned() {
    if (counted) {
      counted = false;
      end.serving.load.returned();
    }
  }

  private void endBehind(Ending ending) {
    last = ending;
    next();
  }

  // As those see it who serve it.

  @Override
  public @Nullable Object user() {
    return user;
  }

  @Override
  public void setUser(@Nullable Object given) {
    user = given;
  }

  @Override
  public int codec() {
    return said.codec();
  }

  @Override
  public long deadline() {
    return deadline;
  }

  @Override
  public Metadata metadata() {
    return said.metadata();
  }

  @Override
  public String authority() {
    return said.authority();
  }

  @Override
  public String peer() {
    return said.peer();
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
    return 0;
  }

  @Override
  public boolean accepts(int compression) {
    return compression == 0;
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
    Message first = requests.poll();
    if (first == null) {
      receive();
    } else if (!over) {
      letGo(first.bytes().length + COST);
    }
    return first;
  }

  @Override
  public boolean send(byte[] array, int offset, int length, int compression) {
    if (over) {
      return true;
    }
    byte[] bytes = exactly(array, offset, length);
    answer(() -> exchange.send(bytes));
    return !sending;
  }

  private static byte[] exactly(byte[] array, int offset, int length) {
    return offset == 0 && length == array.length
        ? array
        : Arrays.copyOfRange(array, offset, offset + length);
  }

  @Override
  public void sendMetadata(Metadata metadata) {
    if (!over) {
      answer(
          () -> {
            exchange.sendHeaders(metadata);
            return null;
          });
    }
  }

  @Override
  public void finish(byte[] array, int offset, int length, int compression, Metadata trailers) {
    if (finishes()) {
      byte[] bytes = exactly(array, offset, length);
      answers.add(() -> exchange.send(bytes));
      endBehind(new Ending(Status.OK, trailers));
    }
    returned();
  }

  @Override
  public void finish(Status status, Metadata trailers) {
    if (finishes()) {
      Status told = status.ok() ? status : status.withDelivery(Delivery.EXECUTED);
      endBehind(new Ending(told, trailers));
    }
    returned();
  }

  @Override
  public void accept() {}

  @Override
  public void refuse(Status status, Metadata trailers) {
    if (finishes()) {
      end.serving.load.count(!sent);
      Delivery delivery = sent ? Delivery.UNKNOWN : Delivery.REFUSED;
      endBehind(new Ending(status.withDelivery(delivery), trailers));
    }
    returned();
  }

  @Override
  public void fail(Code code, String text) {
    stop(Status.of(code, text));
  }
}
