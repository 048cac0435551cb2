package io.trunkcall;

import io.trunkcall.internal.transport.Carrier;
import io.trunkcall.internal.transport.Clock;
import io.trunkcall.internal.transport.http.HttpCall;
import io.trunkcall.internal.transport.http.HttpEvents;
import io.trunkcall.internal.transport.http.HttpLine;
import io.trunkcall.internal.transport.http.HttpMethod;
import io.trunkcall.internal.wire.Exchange;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** A server's end of a connection of HTTP. Its client cannot be called. */
final class HttpEnd extends ServingEnd implements HttpEvents {
  private final Server server;
  private @Nullable HttpLine line;

  HttpEnd(Server server, Serving serving, Calling calling) {
    super(serving, calling);
    this.server = server;
  }

  @Override
  HttpLine line() {
    HttpLine there = line;
    if (there == null) {
      throw new IllegalStateException("the connection is not there yet");
    }
    return there;
  }

  @Override
  boolean isYoung() {
    return false;
  }

  @Override
  Server server() {
    return server;
  }

  @Override
  String protocol() {
    return line().protocol();
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
        "the connection to " + line().remote() + " is of HTTP: its client cannot be called",
        Delivery.NOT_SENT);
  }

  @Override
  ConnectionGauges figures() {
    ConnectionGauges.State state = ConnectionGauges.State.OPEN;
    if (line().lost()) {
      state = ConnectionGauges.State.CLOSED;
    } else if (isDraining()) {
      state = ConnectionGauges.State.DRAINING;
    }
    return new ConnectionGauges(
        state,
        Duration.of(Clock.micros() - line().began(), ChronoUnit.MICROS),
        Duration.ZERO,
        0,
        line().calls(),
        0,
        line().unsentBytes(),
        line().unsentBytes() + line().heldBytes(),
        0,
        0,
        0,
        0,
        why());
  }

  @Override
  void addTo(Summing sum) {
    sum.addCalls(true, line().calls(), line().unsentBytes(), line().heldBytes());
  }

  @Override
  Set<Integer> accepts(Exchange call) {
    return call instanceof HttpCall http ? http.takes() : Set.of();
  }

  // What the connection tells.

  @Override
  public void connected(HttpLine made) {
    line = made;
    attached();
    server.connected(this, made::retire);
    told().connected(caller(), events);
  }

  @Override
  public void disconnected(String reason) {
    server.disconnected(this, reason, true);
  }

  @Override
  public void violated(String text) {
    because(text);
    serving.journal.log(
        System.Logger.Level.WARNING, "connection ended", line().remote() + ": " + text, null);
  }

  // What it tells of calls.

  @Override
  public @Nullable HttpMethod find(String name) {
    Served found = serving.find(name);
    return found == null ? null : found.http;
  }

  @Override
  public void start(HttpCall call, HttpMethod method) {
    serve(call, method.target(), call.protocol());
  }

  @Override
  public void unserved(String method, boolean refused, Code code, String text) {
    tellUnserved(method, refused, code, text);
  }

  @Override
  public void stopped(HttpCall call) {
    callStopped(call);
  }

  @Override
  public void arrived(HttpCall call) {
    callArrived(call);
  }

  @Override
  public void writable(HttpCall call) {
    callWritable(call);
  }
}
