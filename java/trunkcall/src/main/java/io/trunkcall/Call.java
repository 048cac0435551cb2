package io.trunkcall;

import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One invocation as interceptors see it, the same at both ends. What begins with {@code with} makes
 * a copy to go on with.
 */
public final class Call {
  private final Method<?, ?> method;
  private final Metadata metadata;
  private final @Nullable Object request;
  private final @Nullable Duration timeout;
  private final @Nullable MessageStream stream;
  private final @Nullable ServerCall server;
  private final Shared shared;

  /** What the copies of one call have together. */
  private static final class Shared {
    final ConcurrentLinkedQueue<Consumer<Status>> ends = new ConcurrentLinkedQueue<>();
    volatile @Nullable Response<?> response;
  }

  Call(
      Method<?, ?> method,
      Metadata metadata,
      @Nullable Object request,
      @Nullable Duration timeout,
      @Nullable MessageStream stream,
      @Nullable ServerCall server) {
    this(method, metadata, request, timeout, stream, server, new Shared());
  }

  private Call(
      Method<?, ?> method,
      Metadata metadata,
      @Nullable Object request,
      @Nullable Duration timeout,
      @Nullable MessageStream stream,
      @Nullable ServerCall server,
      Shared shared) {
    this.method = method;
    this.metadata = metadata;
    this.request = request;
    this.timeout = timeout;
    this.stream = stream;
    this.server = server;
    this.shared = shared;
  }

  /** What is called. */
  public Method<?, ?> method() {
    return method;
  }

  /** The metadata of the request. */
  public Metadata metadata() {
    return metadata;
  }

  /** The message of a method that takes exactly one. */
  public @Nullable Object request() {
    return request;
  }

  /** The time that remains; null: there is no deadline. */
  public @Nullable Duration timeout() {
    return timeout;
  }

  /** At the server, the messages of a call that is not unary. */
  public @Nullable MessageStream stream() {
    return stream;
  }

  /** At the server, the call as its handler sees it. */
  public @Nullable ServerCall server() {
    return server;
  }

  /** At the client, once the next step has ended a unary call: what came beside its message. */
  public @Nullable Response<?> response() {
    return shared.response;
  }

  /** At the client: the same with other metadata. */
  public Call withMetadata(Metadata metadata) {
    Objects.requireNonNull(metadata, "metadata");
    return new Call(method, metadata, request, timeout, stream, server, shared);
  }

  /** The same with another request. */
  public Call withRequest(Object request) {
    Objects.requireNonNull(request, "request");
    return new Call(method, metadata, request, timeout, stream, server, shared);
  }

  /** At the client: the same with another time to go by. */
  public Call withTimeout(@Nullable Duration timeout) {
    return new Call(method, metadata, request, timeout, stream, server, shared);
  }

  /** At the server: the same with a stream that wraps its own. */
  public Call withStream(MessageStream stream) {
    Objects.requireNonNull(stream, "stream");
    return new Call(method, metadata, request, timeout, stream, server, shared);
  }

  /**
   * Calls {@code function} once, with the status, when the call is over. A stream at the client is
   * over after its interceptors have returned. What the function throws is logged.
   */
  public void onEnd(Consumer<Status> function) {
    shared.ends.add(function);
  }

  void answered(Response<?> response) {
    shared.response = response;
  }

  void end(Status status) {
    for (Consumer<Status> one; (one = shared.ends.poll()) != null; ) {
      try {
        one.accept(status);
      } catch (Throwable e) {
        Journal.LOGGER.log(
            System.Logger.Level.ERROR,
            "what was to be told of the end of a call of " + method.name() + " threw",
            e);
      }
    }
  }
}
