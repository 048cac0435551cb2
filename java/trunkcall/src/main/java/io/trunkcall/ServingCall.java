package io.trunkcall;

import io.trunkcall.internal.policy.Concurrency.Sample;
import io.trunkcall.internal.policy.Ended;
import io.trunkcall.internal.transport.Clock;
import io.trunkcall.internal.transport.Here;
import io.trunkcall.internal.wire.Exchange;
import io.trunkcall.internal.wire.LimitException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * One call that is served. It is run twice: first where its handler runs, then on the loop of its
 * connection, to say how it ended.
 *
 * <p>What the handler's side writes before it hands over (outcome, headers, trailers) the loop
 * reads behind that. {@link #stop} comes from the loop at any time.
 */
final class ServingCall extends ServedCall implements Here {
  private static final Duration SOONEST = Duration.ofMillis(1); // that a call may come again

  private final @Nullable ServerPipe pipe;

  // Of the handler's side, until it hands over.
  private boolean handled;
  private boolean entered; // behind interceptors: the handler was called
  private volatile boolean left; // and is done
  private final String protocol;
  private ConcurrencyState.@Nullable Place place; // by a policy file
  private @Nullable Runnable release;
  private @Nullable Output answer;
  private @Nullable Output packed; // the same compressed
  private Status status = Status.OK;
  private boolean refused;
  private boolean cut;

  private @Nullable Thread here; // the loop's own, while it runs the handler
  private boolean ended; // there

  private @Nullable RuntimeException overruled; // an answer could not be sent, on the loop
  private @Nullable ScheduledFuture<?> timer; // of a one-way call, on the loop

  ServingCall(ServingEnd end, Served served, Exchange incoming, String protocol) {
    super(end, served, incoming);
    this.protocol = protocol;
    this.pipe =
        served.kind.streams() && !incoming.oneway()
            ? new ServerPipe(this, incoming, end.line(), served)
            : null;
  }

  /** First where the handler runs, then on the loop. */
  @Override
  public void run() {
    if (handled) {
      finishBehindMessages();
    } else {
      handled = true;
      handle();
    }
  }

  // Where the loop's own thread runs the handler.

  /** Whether the loop's own thread may ever run its handler. */
  boolean mayRunHere() {
    return pipe == null && !incoming.oneway();
  }

  @Override
  public long runHere(long since) {
    here = Thread.currentThread();
    run();
    here = null;
    long now = System.nanoTime();
    served.took(now - since);
    return now;
  }

  @Override
  public void ran() {
    if (ended) {
      end.line().submit(this);
    }
  }

  @Override
  public void overran(boolean looked) {
    if (looked) {
      served.overran();
    } else {
      served.took(Long.MAX_VALUE);
    }
    ran();
  }

  @Override
  public void elsewhere() {
    end.runOrRefuse(this);
  }

  // Where the handler runs.

  private void handle() {
    boolean measured = here == null && !served.isShort() && mayRunHere();
    long began = measured ? System.nanoTime() : 0;
    ServerCall before = CurrentCall.set(this);
    boolean inline = served.handler.isInline();
    if (!inline && !served.handler.answersLater()) {
      runOn(Thread.currentThread());
    }
    try {
      CompletionStage<? extends @Nullable Object> later = begin();
      if (later != null) {
        later.whenComplete(
            (response, error) -> {
              if (error == null) {
                answered(response);
              } else {
                failed(CallFuture.unwrapped(error));
              }
            });
      }
    } catch (Throwable e) {
      failed(e);
    } finally {
      CurrentCall.set(before);
      runOn(null);
      if (!inline && isStopped()) {
        Thread.interrupted(); // it was for this handler, and the thread serves others
      }
      if (measured) {
        served.took(System.nanoTime() - began);
      }
    }
  }

  /** Null: the answer is there. */
  private @Nullable CompletionStage<? extends @Nullable Object> begin() throws Exception {
    if (isStopped()) {
      throw new StatusException(Code.CANCELLED, "the handler was cancelled");
    }
    if (isLate()) {
      throw refusing(
          Status.of(Code.DEADLINE_EXCEEDED, "the deadline passed before the handler started"));
    }
    if (end.serving.file != null) {
      passLimits(end.serving.file.current().of(method().name()));
    }
    if (end.serving.admission != null) {
      admit(end.serving.admission);
    }
    Object request = request();
    MessageStream stream = pipe;
    if (stream == null && served.kind.streams()) {
      stream = new OnlyMessage(served.kind.takesOne() ? null : request);
    }
    if (!end.serving.interceptors.isEmpty()) {
      return Interceptions.serve(this, request, timeRemaining(), stream);
    }
    return enter(request, stream);
  }

  /** Runs the handler. Null: it has answered. */
  private @Nullable CompletionStage<? extends @Nullable Object> enter(
      @Nullable Object request, @Nullable MessageStream stream) throws Exception {
    Object found = handler(request, stream);
    if (found instanceof CompletionStage<?> later && served.handler.answersLater()) {
      return later;
    }
    answered(found);
    return null;
  }

  /** Calls the handler, behind interceptors or without any. */
  @Nullable Object handler(@Nullable Object request, @Nullable MessageStream stream)
      throws Exception {
    entered = true;
    if (incoming.oneway()) {
      accept();
    }
    boolean later = served.handler.answersLater();
    try {
      Object found = served.handler.run().run(request, stream, this);
      if (later && found instanceof CompletionStage<?> stage) {
        waitFor(stage);
        return stage.whenComplete((response, error) -> left = true);
      }
      left = true;
      return found;
    } catch (Throwable e) {
      left = true;
      throw e;
    }
  }

  private void accept() {
    end.serving.oneWays.add(this);
    onLoop(
        () -> {
          if (incoming.over()) {
            return;
          }
          incoming.accept();
          end.line().schedule();
          if (deadline != 0) {
            long left = Math.max(deadline - Clock.micros(), 0);
            timer =
                end.line()
                    .loop()
                    .schedule(() -> stop("the deadline passed"), left, TimeUnit.MICROSECONDS);
          }
        });
  }

  /** Passes the limits of a policy file (policy.md 16). */
  private void passLimits(Rules rules) {
    RateState rate = rules.serverRate;
    ConcurrencyState concurrency = rules.serverConcurrency;
    if (rate == null && concurrency == null) {
      return;
    }
    Priority priority = priority();
    long after = rate == null ? 0 : rate.take(priority);
    if (rate != null && after > 0) {
      throw usedUp(rate.usedUp(), Duration.ofNanos(Math.max(after, SOONEST.toNanos())));
    }
    if (concurrency != null) {
      place = concurrency.enter(priority);
      if (place == null) {
        throw usedUp(concurrency.usedUp(), SOONEST);
      }
    }
  }

  private RefusedException usedUp(String text, Duration after) {
    return refusing(Status.of(Code.RESOURCE_EXHAUSTED, text).withRetryAfter(after));
  }

  private void admit(Admission admission) throws Exception {
    Admitted admitted;
    try {
      admitted =
          admission.admit(
              new Arrival(
                  served.method,
                  metadata(),
                  peer(),
                  protocol,
                  authority(),
                  timeRemaining(),
                  tls()));
    } catch (Throwable e) {
      refused = true;
      status = Outcomes.of(this, e, "admission");
      throw RefusedException.SAID;
    }
    if (admitted == null) {
      throw refusing(
          Status.of(
              Code.UNKNOWN,
              Outcomes.hidden(this, new NullPointerException("admission"), "admission")));
    }
    principal(admitted.principal());
    release = admitted.release();
  }

  private @Nullable Object request() {
    try {
      return Requests.decoded(served, incoming, end.serving.packing);
    } catch (StatusException e) {
      throw refusing(e.status());
    }
  }

  Unpacked unpacked(byte[] message, int length, int compression, Codec<?> codec) {
    return end.serving.packing.unpacked(message, 0, length, compression, 0, codec);
  }

  /** An answer compressed; null if it is to be sent plain. */
  @Nullable Output packed(Output plain, int compressionOfRequest) {
    Packing packing = end.serving.packing;
    List<Compression> said = compression();
    return said == null
        ? packing.answer(method().name(), plain, compressionOfRequest, end.accepts(incoming))
        : packing.request(method().name(), plain, said, end.accepts(incoming));
  }

  private RefusedException refusing(Status why) {
    refused = true;
    status = why;
    return RefusedException.SAID;
  }

  /** The handler, or what stands before it, has answered. */
  void answered(@Nullable Object response) {
    if (!served.kind.answersOne()) {
      done();
      return;
    }
    Codec<Object> codec = served.response(incoming.codec());
    if (response == null || codec == null) {
      status = Outcomes.noAnswer(this);
      done();
      return;
    }
    Output out = new Output();
    try {
      codec.encode(response, out);
      answer = out;
      packed = packed(out, incoming.compression());
    } catch (Throwable e) { // an Error too: this may be run by what swallows it
      answer = null;
      status = Outcomes.unencodable(this, codec.name(), e);
    }
    done();
  }

  void failed(Throwable error) {
    if (error != RefusedException.SAID) {
      status = Outcomes.of(this, error, "handler");
      if (error instanceof StatusException given && !given.trailers().isEmpty()) {
        setTrailers(given.trailers());
      }
      if (!left) {
        refused = !entered;
        cut = entered;
      }
    }
    done();
  }

  private void done() {
    runOn(null);
    if (here == Thread.currentThread()) { // it is answered when the loop is taken back
      ended = true;
      return;
    }
    if (served.handler.isInline() && end.line().loop().inEventLoop()) {
      finishBehindMessages();
      end.line().schedule();
    } else {
      end.line().submit(this);
    }
  }

  // On the loop.

  /** What the handler has sent goes ahead, however long the other side lets it wait. */
  private void finishBehindMessages() {
    if (pipe == null) {
      finish();
    } else {
      pipe.behindAll(this::finish);
    }
  }

  /** Says how the call ended; what cannot be sent is replaced by a status that can. */
  private void finish() {
    try {
      say();
    } catch (LimitException e) {
      end.serving.journal.log(
          System.Logger.Level.WARNING,
          "the answer cannot be sent",
          method().name() + ": " + e.getMessage(),
          null);
      incoming.finish(
          Status.of(Code.RESOURCE_EXHAUSTED, String.valueOf(e.getMessage())), Metadata.EMPTY);
    } catch (IllegalArgumentException e) {
      incoming.finish(
          Status.of(Code.INTERNAL, "the answer's metadata is not valid: " + e.getMessage()),
          Metadata.EMPTY);
    } finally {
      over();
    }
  }

  private void say() {
    if (incoming.oneway() && !status.ok() && !refused) {
      end.serving.oneWayFailures.increment();
      end.serving.journal.log(
          System.Logger.Level.WARNING,
          "a one-way call failed",
          method().name() + " from " + peer() + ": " + status,
          null);
    }
    Metadata behind = trailersNow();
    if (refused) {
      refuse(behind);
      return;
    }
    if (cut) {
      incoming.fail(status.code(), status.message());
      incoming.finish(status, Metadata.EMPTY);
      return;
    }
    RuntimeException unsendable = overruled;
    if (unsendable != null) {
      throw unsendable;
    }
    flushHeaders();
    Output out = answer;
    if (out == null) {
      incoming.finish(status, behind);
      return;
    }
    Output small = packed;
    if (small != null && incoming.accepts(small.compression)) {
      incoming.finishOwn(small.array(), 0, small.length(), small.compression, behind);
    } else {
      incoming.finishOwn(out.array(), 0, out.length(), 0, behind);
    }
  }

  /** Early metadata that was not sent goes behind: ahead it would say that the call has begun. */
  private void refuse(Metadata behind) {
    try {
      incoming.refuse(status, behind.toBuilder().addAll(headersUnsent()).build());
    } catch (LimitException | IllegalArgumentException e) {
      incoming.refuse(status, Metadata.EMPTY);
    }
  }

  private void over() {
    countNoMore();
    if (timer != null) {
      timer.cancel(false);
    }
    if (incoming.oneway()) {
      end.serving.oneWays.remove(this);
    }
    ConcurrencyState.Place left = place;
    if (left != null) {
      Ended ended = new Ended(status.code(), Delivery.EXECUTED, 0, false, false);
      Sample sample = refused ? Sample.NONE : Sample.of(ended);
      left.leave(served.kind.streams() ? sample.ofStream() : sample);
    }
    Runnable free = release;
    if (free != null) {
      try {
        free.run();
      } catch (Throwable e) {
        end.serving.journal.log(
            System.Logger.Level.ERROR, "the release of a call failed", method().name(), e);
      }
    }
    end.serving.returned();
  }

  /**
   * An answer is above a limit of the caller's, or the metadata ahead of it is not valid: that is
   * how the call ends (status.md 1.3).
   */
  void overrule(RuntimeException error) {
    overruled = error;
  }

  boolean isOverruled() {
    return overruled != null;
  }

  @Override
  void pipeOver() {
    if (pipe != null) {
      pipe.over();
    }
  }

  void arrived() {
    if (pipe != null) {
      pipe.arrived();
    }
  }

  void writable() {
    if (pipe != null) {
      pipe.writable();
    }
  }

  // For those around it.

  /** Whether interceptors have gone on to the handler. */
  boolean entered() {
    return entered;
  }
}
