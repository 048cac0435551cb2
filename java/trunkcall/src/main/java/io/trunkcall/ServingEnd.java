package io.trunkcall;

import io.trunkcall.internal.client.ClientEndpoint;
import io.trunkcall.internal.transport.Carrier;
import io.trunkcall.internal.transport.Line;
import io.trunkcall.internal.wire.Exchange;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * This side's end of a connection whose calls it serves, whichever protocol it speaks. Used on the
 * connection's loop, except what says otherwise.
 */
abstract class ServingEnd {
  static final String NATIVE = "trunk";
  static final String DISCONNECTED = "disconnected by this side";
  private static final double JITTER =
      0.1; // of the age of a connection, so that not all end at once
  private static final Duration NO_THREAD = Duration.ofSeconds(1); // until a call may come again

  final Serving serving;
  final Calling calling;

  /** Done with the reason when the connection is over. Any thread. */
  final CompletableFuture<String> gone = new CompletableFuture<>();

  /** What its observer is told of it. */
  final Sequence events = Told.sequence();

  private @Nullable Connection caller;
  private volatile boolean draining; // for this side's own reasons
  private volatile @Nullable ScheduledFuture<?> ageing; // ends a server's connection at its age
  private volatile String why = "";

  ServingEnd(Serving serving, Calling calling) {
    this.serving = serving;
    this.calling = calling;
  }

  /** Has {@code retire} end the connection at its age in µs, a tenth more or less; 0: none. */
  final void age(long micros, Runnable retire) {
    if (micros > 0) {
      double part = 1 + ThreadLocalRandom.current().nextDouble(-JITTER, JITTER);
      ageing = line().loop().schedule(retire, (long) (micros * part), TimeUnit.MICROSECONDS);
    }
  }

  final void ageNoMore() {
    ScheduledFuture<?> timer = ageing;
    if (timer != null) {
      timer.cancel(false);
    }
  }

  // For any thread, once connected.

  abstract Line line();

  /** The connection as users see it. */
  Connection caller() {
    Connection there = caller;
    if (there == null) {
      throw new IllegalStateException("the connection is not there yet");
    }
    return there;
  }

  /** Whether the other side has not greeted. */
  abstract boolean isYoung();

  /** What the connection speaks. */
  abstract String protocol();

  boolean isDraining() {
    return draining;
  }

  /** Why the connection is over, or is ending; empty while it is not. */
  String why() {
    return why;
  }

  void because(String text) {
    if (why.isEmpty()) {
      why = text;
    }
  }

  /** The endpoint that the connection leads to, at a client. */
  @Nullable ClientEndpoint endpoint() {
    return null;
  }

  /** The server whose end it is; null at a client. */
  @Nullable Server server() {
    return null;
  }

  /** Whether calls may be made once more, for what the policy says. */
  boolean repeats(@Nullable Boolean policy) {
    return policy == null ? calling.repeats : policy;
  }

  /** The observer of the client or server. */
  abstract Told told();

  /** Asks the other side to open no more calls; closes when all are done. */
  void drain(String reason) {
    draining = true;
    because(reason);
    line().drain();
    caller().slots.tryAgain();
  }

  /** This side ends the connection at once. */
  abstract void disconnect();

  /**
   * The connection for a call of this side.
   *
   * @throws StatusException where it takes none
   */
  abstract Carrier pick();

  /** What the connection has at the moment. */
  abstract ConnectionGauges figures();

  abstract void addTo(Summing sum);

  /** The numbers of the compressions that the caller of a call takes. Any thread. */
  abstract Set<Integer> accepts(Exchange call);

  /** Handlers see a connection from here on. */
  void attached() {
    caller = new Connection(calling, this);
  }

  /** The connection is over; {@code told}: observers had heard of it. */
  void over(String reason, boolean told) {
    because(reason);
    caller().slots.tryAgain();
    if (told) {
      told().ended(caller(), events, line().fault(), why);
    }
    gone.complete(why);
  }

  // Calls that are served.

  /** Has a call of the method served that {@code target} stands for. */
  void serve(Exchange call, @Nullable Object target, String protocol) {
    serving.began();
    if (!(target instanceof Served served)) {
      throw new IllegalStateException("a call of a method that is not served");
    }
    ServingCall serves = new ServingCall(this, served, call, protocol);
    call.setUser(serves);
    if (served.request(call.codec()) == null) {
      String only = served.method.request().carriedBy();
      refuse(
          call,
          Status.of(
              Code.UNIMPLEMENTED,
              "the messages of this method are not in codec "
                  + call.codec()
                  + ", only in "
                  + only));
      return;
    }
    if (!runsHere(serves)) {
      runOrRefuse(serves);
    }
  }

  /** Has a call run where handlers are; refuses it if nobody takes it. */
  void runOrRefuse(ServingCall call) {
    Status untaken = run(call);
    if (untaken != null) {
      call.countNoMore();
      refuse(call.incoming, untaken);
    }
  }

  private void refuse(Exchange call, Status why) {
    call.refuse(why, Metadata.EMPTY);
    serving.returned();
  }

  /** A call was ended without its handler. */
  static void callStopped(Exchange call) {
    if (call.user() instanceof ServingCall serves) {
      serves.stop("the call is over");
    }
  }

  /** A message of a call has come, or the last. */
  static void callArrived(Exchange call) {
    if (call.user() instanceof ServingCall serves) {
      serves.arrived();
    }
  }

  /** More may be sent on a call. */
  static void callWritable(Exchange call) {
    if (call.user() instanceof ServingCall serves) {
      serves.writable();
    }
  }

  /** Has a call run. Not null: nobody takes it, with which it is refused. */
  private @Nullable Status run(ServingCall call) {
    if (call.served.handler.isInline()) {
      call.run();
      return null;
    }
    try {
      serving.executor.execute(call);
      return null;
    } catch (Throwable e) { // whatever it is, the call alone ends
      boolean noThread = e instanceof OutOfMemoryError || e.getCause() instanceof OutOfMemoryError;
      if (noThread || !(e instanceof RejectedExecutionException)) {
        serving.journal.log(
            System.Logger.Level.ERROR, "an executor failed", call.method().name(), e);
      }
      return noThread
          ? Status.of(
                  Code.RESOURCE_EXHAUSTED,
                  "the system gives the " + serving.side + " no thread for the handler")
              .withRetryAfter(NO_THREAD)
          : Status.of(Code.UNAVAILABLE, "the executor of the " + serving.side + " takes no more");
    }
  }

  /** Has a call run on this thread, behind what the loop reads now, where that is right. */
  boolean runsHere(ServingCall call) {
    return false;
  }

  /** A call was refused, or cut off. */
  void tellUnserved(String method, boolean refused, Code code, String text) {
    System.Logger.Level level =
        code == Code.CANCELLED || code == Code.DEADLINE_EXCEEDED
            ? System.Logger.Level.DEBUG
            : System.Logger.Level.WARNING;
    serving.journal.log(
        level,
        refused ? "call refused" : "call cut off",
        (method.isEmpty() ? "(its name is not known)" : method)
            + " from "
            + line().remote()
            + ": "
            + code
            + ": "
            + text,
        null);
  }
}
