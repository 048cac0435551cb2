package io.trunkcall;

import io.trunkcall.internal.client.ClientEndpoint;
import io.trunkcall.internal.transport.Carrier;
import io.trunkcall.internal.transport.Line;
import io.trunkcall.internal.wire.Exchange;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;

/**
 * This side's end of a connection whose calls it serves, whichever protocol it speaks. Used on the
 * connection's loop, except what says otherwise.
 */
abstract class ServingEnd {
  static final String DISCONNECTED = "disconnected by this side";

  final Serving serving;
  final Calling calling;

  /** Done with the reason when the connection is over. Any thread. */
  final CompletableFuture<String> gone = new CompletableFuture<>();

  private @Nullable Connection caller;
  private volatile boolean draining; // for this side's own reasons
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

  /** Has a call run. False: nobody takes it. */
  boolean run(ServingCall call) {
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
