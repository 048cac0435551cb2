package io.trunkcall;

import io.trunkcall.internal.client.ClientEndpoint;
import io.trunkcall.internal.transport.Carrier;
import io.trunkcall.internal.transport.Clock;
import io.trunkcall.internal.transport.ConnectionEvents;
import io.trunkcall.internal.wire.ErrorClass;
import io.trunkcall.internal.wire.IncomingCall;
import io.trunkcall.internal.wire.OutgoingCall;
import io.trunkcall.internal.wire.Session;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;

/**
 * One end of a connection: calls served and calls made. Used on the connection's loop, except what
 * says otherwise.
 */
abstract class End implements ConnectionEvents {
  static final String DISCONNECTED = "disconnected by this side";

  final Serving serving;
  final Calling calling;

  /** Done with the reason when the connection is over. Any thread. */
  final CompletableFuture<String> gone = new CompletableFuture<>();

  private @Nullable Carrier carrier;
  private @Nullable Connection caller;
  private volatile boolean young = true; // the other side has not greeted
  private volatile Set<Integer> accepts = Set.of(); // compressions that the other side takes
  private volatile boolean draining; // for this side's own reasons
  private volatile String why = "";

  End(Serving serving, Calling calling) {
    this.serving = serving;
    this.calling = calling;
  }

  // For any thread, once connected.

  @Override
  public Carrier carrier() {
    Carrier there = carrier;
    if (there == null) {
      throw new IllegalStateException("the connection is not there yet");
    }
    return there;
  }

  /** The connection as users see it. */
  Connection caller() {
    Connection there = caller;
    if (there == null) {
      throw new IllegalStateException("the connection is not there yet");
    }
    return there;
  }

  /** The numbers of the compressions that the other side takes. */
  Set<Integer> accepts() {
    return accepts;
  }

  boolean isYoung() {
    return young;
  }

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
    carrier().drain();
    caller().slots.tryAgain();
  }

  /** This side ends the connection at once. */
  void disconnect() {
    if (carrier().lost()) {
      return;
    }
    because(DISCONNECTED);
    carrier().session().drain(Clock.micros(), false);
    carrier().shut(DISCONNECTED);
  }

  // What the transport tells.

  @Override
  public void connected(Carrier made) {
    carrier = made;
    caller = new Connection(calling, this);
  }

  @Override
  public void disconnected(String reason) {
    because(reason);
    caller().slots.tryAgain();
    if (!young) {
      told().ended(caller(), carrier().fault(), why);
    }
    gone.complete(why);
  }

  // What the session tells of calls that are served.

  @Override
  public void start(IncomingCall call) {
    serving.began();
    if (!(call.method().target() instanceof Served served)) {
      throw new IllegalStateException("a method that is not served: " + call.method().name());
    }
    ServingCall serves = new ServingCall(this, served, call);
    call.setUser(serves);
    if (served.request(call.codec()) == null) {
      String only = served.method.request().carriedBy();
      call.refuse(
          Status.of(
              Code.UNIMPLEMENTED,
              "the messages of this method are not in codec " + call.codec() + ", only in " + only),
          Metadata.EMPTY);
      serving.returned();
      return;
    }
    if (served.handler.isInline()) {
      serves.run();
      return;
    }
    try {
      serving.executor.execute(serves);
    } catch (RejectedExecutionException e) {
      call.refuse(
          Status.of(Code.UNAVAILABLE, "the executor of the " + serving.side + " takes no more"),
          Metadata.EMPTY);
      serving.returned();
    }
  }

  @Override
  public void unserved(String method, boolean refused, Code code, String text) {
    System.Logger.Level level =
        code == Code.CANCELLED || code == Code.DEADLINE_EXCEEDED
            ? System.Logger.Level.DEBUG
            : System.Logger.Level.WARNING;
    serving.journal.log(
        level,
        refused ? "call refused" : "call cut off",
        (method.isEmpty() ? "(its name is not known)" : method)
            + " from "
            + carrier().remote()
            + ": "
            + code
            + ": "
            + text,
        null);
  }

  @Override
  public void stopped(IncomingCall call) {
    if (call.user() instanceof ServingCall serves) {
      serves.stop("the call is over");
    }
  }

  @Override
  public void arrived(IncomingCall call) {
    if (call.user() instanceof ServingCall serves) {
      serves.arrived();
    }
  }

  @Override
  public void halfClosed(IncomingCall call) {
    arrived(call);
  }

  @Override
  public void writable(IncomingCall call) {
    if (call.user() instanceof ServingCall serves) {
      serves.writable();
    }
  }

  // What it tells of calls that are made.

  @Override
  public void arrived(OutgoingCall call) {
    if (call.user() instanceof OpeningCall made) {
      made.arrived();
    }
  }

  @Override
  public void header(OutgoingCall call, Metadata metadata) {
    if (call.user() instanceof OpeningCall made) {
      made.header(metadata);
    }
  }

  @Override
  public void ended(OutgoingCall call) {
    if (call.user() instanceof OpeningCall made) {
      made.end(call);
    }
  }

  @Override
  public void writable(OutgoingCall call) {
    if (call.user() instanceof OpeningCall made) {
      made.writable();
    }
  }

  // What it tells of itself.

  @Override
  public void opened() {
    young = false;
    accepts = Set.copyOf(carrier().session().peer().compressions());
    calling.accepts = accepts;
    slotFree();
    told().connected(caller());
  }

  @Override
  public void slotFree() {
    Slots.letIn(carrier(), caller().slots, null);
  }

  @Override
  public void goesAway(int reason, String text) {
    because("the peer goes away: " + text);
    caller().slots.tryAgain();
  }

  @Override
  public void overdue() {
    because("an answer is overdue");
    caller().slots.tryAgain();
  }

  @Override
  public void failed(ErrorClass kind, String text) {
    carrier().why(text);
  }

  /** Whether calls may be made: this side drains for handlers that still run only. */
  boolean takesCalls() {
    Session session = carrier().session();
    return !carrier().lost() && session.acceptsCalls() && !(draining && session.servedCalls() == 0);
  }
}
