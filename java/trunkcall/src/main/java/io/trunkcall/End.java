package io.trunkcall;

import io.trunkcall.internal.transport.Carrier;
import io.trunkcall.internal.transport.Clock;
import io.trunkcall.internal.transport.ConnectionEvents;
import io.trunkcall.internal.transport.TurnLoop;
import io.trunkcall.internal.wire.ErrorClass;
import io.trunkcall.internal.wire.Exchange;
import io.trunkcall.internal.wire.IncomingCall;
import io.trunkcall.internal.wire.OutgoingCall;
import io.trunkcall.internal.wire.Session;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * One end of a connection: calls served and calls made. Used on the connection's loop, except what
 * says otherwise.
 */
abstract class End extends ServingEnd implements ConnectionEvents {
  private @Nullable Carrier carrier;
  private volatile boolean young = true; // the other side has not greeted
  private volatile Set<Integer> accepts = Set.of(); // compressions that the other side takes

  End(Serving serving, Calling calling) {
    super(serving, calling);
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

  @Override
  Carrier line() {
    return carrier();
  }

  @Override
  Set<Integer> accepts(Exchange call) {
    return accepts;
  }

  @Override
  boolean isYoung() {
    return young;
  }

  @Override
  String protocol() {
    return NATIVE;
  }

  @Override
  void disconnect() {
    if (carrier().lost()) {
      return;
    }
    because(DISCONNECTED);
    carrier().session().drain(Clock.micros(), false);
    carrier().shut(DISCONNECTED);
  }

  @Override
  Carrier pick() {
    if (!takesCalls()) {
      throw Failures.local(
          Code.UNAVAILABLE,
          "the connection to " + carrier().remote() + ": " + caller().trouble(),
          Delivery.NOT_SENT);
    }
    return carrier();
  }

  @Override
  ConnectionGauges figures() {
    Session session = carrier().session();
    ConnectionGauges.State state = ConnectionGauges.State.OPEN;
    if (carrier().lost()) {
      state = ConnectionGauges.State.CLOSED;
    } else if (!session.acceptsCalls()) {
      state = ConnectionGauges.State.DRAINING;
    }
    return new ConnectionGauges(
        state,
        Duration.of(Clock.micros() - carrier().began(), ChronoUnit.MICROS),
        Duration.of(session.roundTrip(), ChronoUnit.MICROS),
        session.ownCalls(),
        session.servedCalls(),
        caller().slots.size(),
        session.unsent(),
        session.unsent() + session.held(),
        session.withheldCredit(),
        session.pool(),
        session.poolHeld(),
        session.peerPool(),
        why());
  }

  @Override
  void addTo(Summing sum) {
    sum.add(carrier().session());
  }

  // What the transport tells.

  @Override
  public void connected(Carrier made) {
    carrier = made;
    attached();
  }

  @Override
  public void disconnected(String reason) {
    over(reason, !young);
  }

  // What the session tells of calls that are served.

  @Override
  public void start(IncomingCall call) {
    serve(call, call.method().target(), NATIVE);
  }

  /**
   * Short handlers are run by the loop's thread, which lets go of the loop meanwhile: to wake
   * another thread for them takes longer.
   */
  @Override
  boolean runsHere(ServingCall call) {
    TurnLoop loop = TurnLoop.of(carrier().loop());
    if (loop == null
        || call.served.handler.isInline()
        || !(serving.executor instanceof HandlerPool)) {
      return false;
    }
    call.counted(loop.lone());
    boolean alone = loop.lone().serves();
    return call.mayRunHere() && call.served.isShort() && loop.runHere(call, alone);
  }

  @Override
  public void unserved(String method, boolean refused, Code code, String text) {
    tellUnserved(method, refused, code, text);
  }

  @Override
  public void stopped(IncomingCall call) {
    callStopped(call);
  }

  @Override
  public void arrived(IncomingCall call) {
    callArrived(call);
  }

  @Override
  public void halfClosed(IncomingCall call) {
    arrived(call);
  }

  @Override
  public void writable(IncomingCall call) {
    callWritable(call);
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
    told().connected(caller(), events);
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
    return !carrier().lost()
        && session.acceptsCalls()
        && !(isDraining() && session.servedCalls() == 0);
  }
}
