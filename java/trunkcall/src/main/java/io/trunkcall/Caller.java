package io.trunkcall;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Flow;
import org.jspecify.annotations.Nullable;

/**
 * What methods are called through. A {@link Client} and a {@link Connection} are callers. So is a
 * class of your own that wraps another caller, routes between several, or answers by itself in a
 * test: it needs {@link #unary} and {@link #stream} only, by which everything else goes.
 */
public interface Caller {
  /**
   * Calls a unary method, or a one-way one, whose response has no message. The future fails with
   * {@link StatusException}; to cancel it cancels the call.
   *
   * @throws IllegalArgumentException for a method that streams
   */
  <Q, R> CompletableFuture<Response<R>> unary(Method<Q, R> method, Q request, CallOptions options);

  /**
   * Opens a call of a streaming method; what goes wrong is told by the stream. {@code request} is
   * that of a server-streaming method, else null.
   *
   * @throws IllegalArgumentException for a method that does not stream
   */
  <Q, R> ClientStream<Q, R> stream(Method<Q, R> method, @Nullable Q request, CallOptions options);

  /**
   * Calls a unary method and waits for the message of its response.
   *
   * @throws StatusException when the call failed
   * @throws IllegalStateException on the thread of an event loop, which must not wait
   */
  default <Q, R> R call(Method<Q, R> method, Q request) {
    return call(method, request, CallOptions.NONE);
  }

  /** Calls a unary method with options, and waits for the message of its response. */
  default <Q, R> R call(Method<Q, R> method, Q request, CallOptions options) {
    Calls.answering(method);
    return Calls.message(Blocking.get(unary(method, request, options)));
  }

  /** Calls a unary method; the future has the message of its response. */
  default <Q, R> CompletableFuture<R> callAsync(Method<Q, R> method, Q request) {
    return callAsync(method, request, CallOptions.NONE);
  }

  /** Calls a unary method with options; the future has the message of its response. */
  default <Q, R> CompletableFuture<R> callAsync(
      Method<Q, R> method, Q request, CallOptions options) {
    Calls.answering(method);
    return CallFuture.of(unary(method, request, options), Calls::message);
  }

  /**
   * Makes a one-way call and waits until it is accepted, and so will run.
   *
   * @throws StatusException when it was not, or nothing is known
   */
  default <Q> void send(Method<Q, Void> method, Q request) {
    send(method, request, CallOptions.NONE);
  }

  /** Makes a one-way call with options and waits until it is accepted. */
  default <Q> void send(Method<Q, Void> method, Q request, CallOptions options) {
    Blocking.get(unary(method, request, options));
  }

  /** Opens a call of a client-streaming or bidi-streaming method. */
  default <Q, R> ClientStream<Q, R> open(Method<Q, R> method) {
    return stream(method, null, CallOptions.NONE);
  }

  /** Opens a call of a server-streaming method; its responses can be iterated. */
  default <Q, R> ClientStream<Q, R> open(Method<Q, R> method, Q request) {
    return stream(method, request, CallOptions.NONE);
  }

  /**
   * The responses of a server-streaming method as a publisher. Each subscriber makes a call of its
   * own; to cancel the subscription cancels the call.
   */
  default <Q, R> Flow.Publisher<R> publish(Method<Q, R> method, Q request, CallOptions options) {
    return subscriber -> {
      java.util.Objects.requireNonNull(subscriber, "subscriber");
      stream(method, request, options).publisher().subscribe(subscriber);
    };
  }
}
