package io.trunkcall;

import io.trunkcall.internal.client.ClientEndpoint;
import io.trunkcall.internal.transport.Carrier;
import io.trunkcall.internal.transport.Line;
import io.trunkcall.internal.wire.Exchange;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledFuture;
import org.jspecify.annotations.Nullable;

/**
 * This side's end of a connection whose calls it serves, whichever protocol it speaks. Used on the
 * connection's loop, except what says otherwise.
 */
abstract class ServingEnd {
  static final String NATIVE = "trunk";
  static final String DISCONNECTED = "disconnected by this side";

  final Serving serving;
  final Calling calling;

  /** Done with the reason when the connection is over. Any thread. */
  final CompletableFuture<String> gone = new CompletableFuture<>();

  private @Nullable Connection caller;
  private volatile boolean draining; // for this side's own reasons
  @Nullable ScheduledFuture<?> aged; // what ends the connection of a server at its age
  private volatile String why = "";

  ServingEnd(Serving serving, Calling calling) {
    this.serving = serving;
    this.calling = calling;
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
      told().ended(caller(), line().fault(), why);
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
          Code.UNIMPLEMENTED,
          "the messages of this method are not in codec " + call.codec() + ", only in " + only);
    } else if (!run(serves)) {
      refuse(call, Code.UNAVAILABLE, "the executor of the " + serving.side + " takes no more");
    }
  }

  private void refuse(Exchange call, Code code, String text) {
    call.refuse(Status.of(code, text), Metadata.EMPTY);
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

  /** Has a call run. False: nobody takes it. */
  private boolean run(ServingCall call) {
    if (call.served.handler.isInline()) {
      call.run();
      return true;
    }
    try {
      serving.executor.execute(call);
      return true;
    } catch (Throwable e) { // also an Error of one that can start no thread: the call alone ends
      if (!(e instanceof RejectedExecutionException)) {
        serving.journal.log(
            System.Logger.Level.ERROR, "an executor failed", call.method().name(), e);
      }
      return false;
    }
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
