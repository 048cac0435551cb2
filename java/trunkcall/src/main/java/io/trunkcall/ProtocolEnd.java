package io.trunkcall;

import io.trunkcall.internal.transport.Carrier;
import io.trunkcall.internal.transport.Clock;
import io.trunkcall.internal.transport.Line;
import io.trunkcall.internal.wire.Exchange;
import io.trunkcall.internal.wire.Holder;
import io.trunkcall.internal.wire.Share;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Where the calls of a user's protocol are served: a connection of it, or all that came by none,
 * which have a line without a channel ({@link ProtocolLine}). Its client cannot be called.
 */
final class ProtocolEnd extends ServingEnd implements Holder {
  final Server server;
  final Share share;
  final long mostBytes; // of a message
  private final String protocol;
  private final boolean connected; // or else it stands for what came by no connection
  private final Set<ProtocolCall> calls = new LinkedHashSet<>(); // that are open
  private @Nullable Line line;
  private boolean over;

  ProtocolEnd(Server server, Serving serving, Calling calling, String name, boolean connected) {
    super(serving, calling);
    this.server = server;
    this.protocol = name;
    this.connected = connected;
    this.share = serving.load.share(this, server.config().incompleteBytes());
    this.mostBytes = server.config().settings().maxMessage();
  }

  /** Calls may be served. */
  void prepare(Line made) {
    line = made;
    attached();
  }

  /** A connection is up. */
  void connected(Line made) {
    prepare(made);
    server.connected(this, () -> drain("the connection has reached its maximum age"));
    told().connected(caller(), events);
  }

  /** The connection is gone; or the protocol has stopped. */
  void disconnected(String reason) {
    if (over) {
      return;
    }
    over = true;
    endCalls(Status.of(Code.CANCELLED, "the connection is over"));
    share.close();
    server.disconnected(this, reason, connected);
  }

  boolean isOver() {
    return over;
  }

  /** Ends the calls that are open, without their handlers. */
  void endCalls(Status why) {
    List.copyOf(calls).forEach(one -> one.stop(why));
  }

  // Of its calls.

  void add(ProtocolCall call) {
    calls.add(call);
  }

  void remove(ProtocolCall call) {
    calls.remove(call);
    if (calls.isEmpty() && line() instanceof ProtocolLine free) {
      free.idle();
    }
  }

  boolean isIdle() {
    return calls.isEmpty();
  }

  // As a holder of memory.

  @Override
  public long unsent() {
    return 0;
  }

  @Override
  public boolean relieve(@Nullable Object call) {
    for (ProtocolCall one : calls) {
      if (one.held() > 0) {
        if (one == call) {
          return false;
        }
        one.stop(Status.of(Code.RESOURCE_EXHAUSTED, serving.load.memoryFull()));
        return true;
      }
    }
    return false;
  }

  @Override
  public void reliefAsked() {
    line().submit(share::relieve);
  }

  // As an end.

  @Override
  Line line() {
    Line there = line;
    if (there == null) {
      throw new IllegalStateException("the connection is not there yet");
    }
    return there;
  }

  @Override
  boolean isYoung() {
    return !connected;
  }

  @Override
  String protocol() {
    return protocol;
  }

  @Override
  Told told() {
    return server.told();
  }

  @Override
  void disconnect() {
    because(DISCONNECTED);
    line().abort(DISCONNECTED);
  }

  @Override
  Carrier pick() {
    throw Failures.local(
        Code.UNIMPLEMENTED,
        "the connection to "
            + line().remote()
            + " is of "
            + protocol
            + ": its client cannot be called",
        Delivery.NOT_SENT);
  }

  @Override
  ConnectionGauges figures() {
    ConnectionGauges.State state = ConnectionGauges.State.OPEN;
    if (over) {
      state = ConnectionGauges.State.CLOSED;
    } else if (isDraining()) {
      state = ConnectionGauges.State.DRAINING;
    }
    return new ConnectionGauges(
        state,
        Duration.of(Clock.micros() - line().began(), ChronoUnit.MICROS),
        Duration.ZERO,
        0,
        calls.size(),
        0,
        0,
        share.held(),
        0,
        0,
        0,
        0,
        why());
  }

  @Override
  void addTo(Summing sum) {
    sum.addCalls(connected, calls.size(), 0, share.held());
  }

  @Override
  Set<Integer> accepts(Exchange call) {
    return Set.of();
  }
}
