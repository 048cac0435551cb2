package io.trunkcall;

import io.netty.channel.EventLoop;
import io.trunkcall.internal.client.ClientEndpoint;
import io.trunkcall.internal.transport.Carrier;
import java.util.concurrent.CompletableFuture;
import javax.net.ssl.SSLSession;
import org.jspecify.annotations.Nullable;

/**
 * One connection between a client and a server, at either end. Through it a server calls what its
 * client serves, and a client calls this one server, with the same rules as through a client.
 *
 * <p>When it is over or drains, calls through it fail UNAVAILABLE, not sent: no other takes its
 * place. While it drains, handlers that still run may call. Handlers have it as {@link
 * ServerCall#connection}.
 */
public final class Connection extends Calls {
  final Slots slots = new Slots();
  private final ServingEnd end;

  Connection(Calling calling, ServingEnd end) {
    super(calling);
    this.end = end;
  }

  /** The address of the other end. */
  public String remote() {
    return end.line().remote();
  }

  /** The address of this end. */
  public String local() {
    return end.line().local();
  }

  /**
   * What it speaks: {@code trunk}, {@code h2} or {@code http/1.1}, or the name of a {@link
   * Protocol} of the server's own.
   */
  public String protocol() {
    return end.protocol();
  }

  /** What TLS has agreed on; null in the clear. */
  public @Nullable SSLSession tls() {
    return end.line().tls();
  }

  /** Why the connection is over, or is ending; empty while it is not. */
  public String error() {
    return end.why();
  }

  /**
   * Ends the connection at once: calls that are open on it fail, with an unknown delivery, and
   * handlers are interrupted. A client opens another with its next calls. Does not wait.
   */
  public void disconnect() {
    hand(end::disconnect);
  }

  /** What the connection has at the moment. */
  public CompletableFuture<ConnectionGauges> gauges() {
    CompletableFuture<ConnectionGauges> found = new CompletableFuture<>();
    hand(() -> found.complete(gaugesNow()));
    return found;
  }

  /** On the loop. */
  ConnectionGauges gaugesNow() {
    return end.figures();
  }

  @Override
  public String toString() {
    return "connection to " + remote();
  }

  // For calls.

  @Override
  EventLoop loop() {
    return end.line().loop();
  }

  @Override
  void hand(Runnable work) {
    end.line().submit(work);
  }

  @Override
  boolean isClosed() {
    return false;
  }

  @Override
  Carrier pick(OpeningCall call) {
    return end.pick();
  }

  @Override
  boolean hopeful(OpeningCall call) {
    return false;
  }

  @Override
  String noConnection() {
    return trouble();
  }

  @Override
  String trouble() {
    if (!end.why().isEmpty()) {
      return end.why();
    }
    return end.isYoung() ? "the other side has not greeted yet" : "it takes no more calls";
  }

  @Override
  String waitsFor() {
    return "a connection";
  }

  @Override
  void watch(OpeningCall call) {
    throw new IllegalStateException("a connection does not change");
  }

  @Override
  void unwatch(OpeningCall call) {}

  @Override
  void retire(Carrier carrier) {
    // pick tells that it is over.
  }

  @Override
  Slots slots(Carrier carrier) {
    return slots;
  }

  @Override
  @Nullable ClientEndpoint endpointOf(Carrier carrier) {
    return end.endpoint();
  }

  @Override
  boolean elsewhere() {
    return false;
  }

  @Override
  boolean mayRepeat(Status status, @Nullable Boolean policy) {
    return status.code() != Code.UNAVAILABLE && end.repeats(policy);
  }
}
