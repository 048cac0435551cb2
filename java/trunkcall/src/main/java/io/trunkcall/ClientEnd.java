package io.trunkcall;

import io.trunkcall.internal.client.ClientEndpoint;
import io.trunkcall.internal.client.Connector;
import io.trunkcall.internal.client.Link;
import io.trunkcall.internal.transport.Carrier;
import io.trunkcall.internal.transport.Clock;
import io.trunkcall.internal.transport.TurnedAwayException;
import io.trunkcall.internal.wire.ErrorClass;
import io.trunkcall.internal.wire.IncomingCall;
import io.trunkcall.internal.wire.OutgoingCall;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** A client's end of one connection. */
final class ClientEnd extends End implements Link {
  private static final String PROXY =
      "; TLS has negotiated no protocol: behind a proxy that ends TLS, use wss:";

  /** Done when the server has greeted and takes calls; fails with {@link TurnedAwayException}. */
  final CompletableFuture<Void> greeting = new CompletableFuture<>();

  private final Client client;
  private final Connector connector;
  private final long began;
  private long activity; // calls that have begun here, or ended
  private String fault = ""; // why the server turned the client away

  ClientEnd(Client client, Connector connector) {
    super(client.serving(), client.calling);
    this.client = client;
    this.connector = connector;
    this.began = client.clockwork().nanos();
  }

  // As the keeping of endpoints sees it.

  @Override
  public boolean usable() {
    return !carrier().lost() && !isDraining() && carrier().session().acceptsCalls();
  }

  @Override
  public boolean greeted() {
    return !isYoung();
  }

  @Override
  public boolean lost() {
    return carrier().lost();
  }

  @Override
  public int open() {
    return carrier().session().ownCalls();
  }

  @Override
  public long activity() {
    return carrier().session().ownCalls() + carrier().session().servedCalls() > 0 ? -1 : activity;
  }

  @Override
  public long began() {
    return began;
  }

  @Override
  public String remote() {
    return carrier().remote();
  }

  @Override
  public String unheard() {
    return carrier().session().unheard(Clock.micros());
  }

  @Override
  public void drain() {
    drain("this side drains");
  }

  @Override
  public ConnectionGauges gauges() {
    return caller().gaugesNow();
  }

  // What is told of it.

  @Override
  public void connected(Carrier made) {
    super.connected(made);
    client.connected(this);
    connector.connected(this);
  }

  @Override
  public void opened() {
    super.opened();
    connector.greeted(this);
    // Behind what was read with the greeting: the server may turn the client away at once.
    carrier().loop().execute(this::settleGreeting);
  }

  private void settleGreeting() {
    if (usable()) {
      greeting.complete(null);
    } else {
      greeting.completeExceptionally(
          new TurnedAwayException(fault.isEmpty() ? "it takes no calls" : fault));
    }
  }

  @Override
  public void goesAway(int reason, String text) {
    super.goesAway(reason, text);
    serving.journal.log(
        System.Logger.Level.INFO,
        "a server goes away",
        remote() + ": " + text + " (reason " + reason + ")",
        null);
    if (reason == 0) {
      connector.drained(this);
    } else {
      fault = "the peer ended the connection: " + text;
      if (carrier().why().isEmpty()) {
        carrier().why(fault);
      }
      connector.turnedAway(this, fault);
    }
  }

  @Override
  public void overdue() {
    super.overdue();
    connector.drained(this);
  }

  @Override
  public void failed(ErrorClass kind, String text) {
    String told =
        kind == ErrorClass.PREFACE && isYoung() ? "this is not a Trunkcall server: " + text : text;
    super.failed(kind, told);
    fault = fault.isEmpty() ? told : fault;
    greeting.completeExceptionally(new TurnedAwayException(fault));
  }

  @Override
  public void disconnected(String reason) {
    String text = reason;
    if (isYoung()) {
      if (carrier().why().isEmpty()) {
        text += " before a greeting: it may not be a Trunkcall server";
      }
      if (carrier().tls() != null && !carrier().tlsNegotiated()) {
        text += PROXY;
      }
    }
    fault = fault.isEmpty() ? text : fault;
    serving.journal.log(System.Logger.Level.DEBUG, "disconnected", remote() + ": " + text, null);
    client.disconnected(this);
    connector.lost(this, text);
    greeting.completeExceptionally(new TurnedAwayException(fault));
    super.disconnected(text);
  }

  @Override
  public void start(IncomingCall call) {
    activity++;
    super.start(call);
  }

  @Override
  public void ended(OutgoingCall call) {
    activity++;
    super.ended(call);
  }

  @Override
  public void slotFree() {
    Slots.letIn(carrier(), client.slotsOf(connector.endpoint()), caller().slots);
  }

  @Override
  @Nullable ClientEndpoint endpoint() {
    return connector.endpoint();
  }

  @Override
  Told told() {
    return client.told();
  }
}
