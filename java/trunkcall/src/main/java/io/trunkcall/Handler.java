package io.trunkcall;

import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import org.jspecify.annotations.Nullable;

/**
 * A method and what serves it, for {@link Server} and {@link Client}. Handlers run on the threads
 * of the executor, unless {@link #inline}; those that return a future only begin there. Without an
 * executor of the user's a short one may be run by the thread that has read its call.
 *
 * <p>A handler that throws {@link StatusException} chooses what the caller is told. Of anything
 * else the caller is told an id, and the log has it beside the text (spec/status.md 1.4). When its
 * call is over before it has returned (cancelled, out of time, connection lost), the thread of a
 * blocking handler is interrupted, and the future of one that answers later is cancelled.
 */
public final class Handler {
  /** Answers a unary call. */
  @FunctionalInterface
  public interface Unary<Q, R> {
    /** Returns the response. */
    R handle(Q request, ServerCall call) throws Exception;
  }

  /** Answers a unary call later. */
  @FunctionalInterface
  public interface UnaryAsync<Q, R> {
    /** Returns what will be the response. */
    CompletionStage<R> handle(Q request, ServerCall call) throws Exception;
  }

  /** Serves a one-way call. */
  @FunctionalInterface
  public interface OneWay<Q> {
    /** Does what is asked. What it throws is logged: nobody else hears of it. */
    void handle(Q request, ServerCall call) throws Exception;
  }

  /** Answers one request with many responses. */
  @FunctionalInterface
  public interface ServerStreaming<Q, R> {
    /** Sends the responses. */
    void handle(Q request, Sender<R> responses, ServerCall call) throws Exception;
  }

  /** Answers many requests with one response. */
  @FunctionalInterface
  public interface ClientStreaming<Q, R> {
    /** Returns the response. */
    R handle(Receiver<Q> requests, ServerCall call) throws Exception;
  }

  /** Sends and receives in any order. */
  @FunctionalInterface
  public interface Bidi<Q, R> {
    /** Sends the responses. */
    void handle(Receiver<Q> requests, Sender<R> responses, ServerCall call) throws Exception;
  }

  /** Publishes the responses to one request. */
  @FunctionalInterface
  public interface ServerPublishing<Q, R> {
    /** Returns the responses; the call ends with them. */
    Flow.Publisher<R> handle(Q request, ServerCall call) throws Exception;
  }

  /** Publishes responses to requests that are published. */
  @FunctionalInterface
  public interface BidiPublishing<Q, R> {
    /** Returns the responses; the call ends with them. */
    Flow.Publisher<R> handle(Flow.Publisher<Q> requests, ServerCall call) throws Exception;
  }

  /** Serves a streaming method without waiting for messages. */
  @FunctionalInterface
  public interface StreamingAsync<Q, R> {
    /**
     * Begins to. The call ends when what is returned is done: with its result, of a method that
     * answers with one message, and behind what was sent of others, whose result counts for
     * nothing. {@code request} is there if the method takes exactly one.
     */
    CompletionStage<? extends @Nullable R> handle(
        @Nullable Q request, Receiver<Q> requests, Sender<R> responses, ServerCall call)
        throws Exception;
  }

  /** The one form in which handlers are run. */
  @FunctionalInterface
  interface Run {
    /**
     * The response if there is one; of those that answer later a {@link CompletionStage}. {@code
     * request} is there if the method takes exactly one, {@code stream} if it is not unary.
     */
    @Nullable Object run(@Nullable Object request, @Nullable MessageStream stream, ServerCall call)
        throws Exception;
  }

  private final Method<?, ?> method;
  private final Run run;
  private final boolean later;
  private final boolean inline;
  private final boolean safe;

  private Handler(Method<?, ?> method, Run run, boolean later, boolean inline, boolean safe) {
    this.method = method;
    this.run = run;
    this.later = later;
    this.inline = inline;
    this.safe = safe;
  }

  /** Serves a unary method. */
  @SuppressWarnings("unchecked")
  public static <Q, R> Handler unary(Method<Q, R> method, Unary<? super Q, ? extends R> serve) {
    Objects.requireNonNull(serve, "serve");
    return of(
        method, Kind.UNARY, (request, stream, call) -> serve.handle((Q) there(request), call));
  }

  /** Serves a unary method with what answers later. */
  @SuppressWarnings("unchecked")
  public static <Q, R> Handler unaryAsync(
      Method<Q, R> method, UnaryAsync<? super Q, ? extends R> serve) {
    Objects.requireNonNull(serve, "serve");
    return later(
        method, Kind.UNARY, (request, stream, call) -> serve.handle((Q) there(request), call));
  }

  /**
   * Serves a one-way method. The handler is ended at the deadline of the call, if there is one, and
   * when its side is closed, but neither with the connection nor because the caller gave up.
   */
  @SuppressWarnings("unchecked")
  public static <Q> Handler oneWay(Method<Q, Void> method, OneWay<? super Q> serve) {
    Objects.requireNonNull(serve, "serve");
    return of(
        method,
        Kind.ONE_WAY,
        (request, stream, call) -> {
          serve.handle((Q) there(request), call);
          return null;
        });
  }

  /** Serves a server-streaming method. */
  @SuppressWarnings("unchecked")
  public static <Q, R> Handler serverStream(
      Method<Q, R> method, ServerStreaming<? super Q, R> serve) {
    Objects.requireNonNull(serve, "serve");
    return of(
        method,
        Kind.SERVER_STREAM,
        (request, stream, call) -> {
          serve.handle((Q) there(request), (Sender<R>) (Sender<?>) there(stream), call);
          return null;
        });
  }

  /** Serves a client-streaming method. */
  @SuppressWarnings("unchecked")
  public static <Q, R> Handler clientStream(
      Method<Q, R> method, ClientStreaming<Q, ? extends R> serve) {
    Objects.requireNonNull(serve, "serve");
    return of(
        method,
        Kind.CLIENT_STREAM,
        (request, stream, call) -> serve.handle((Receiver<Q>) (Receiver<?>) there(stream), call));
  }

  /** Serves a bidi-streaming method. */
  @SuppressWarnings("unchecked")
  public static <Q, R> Handler bidiStream(Method<Q, R> method, Bidi<Q, R> serve) {
    Objects.requireNonNull(serve, "serve");
    return of(
        method,
        Kind.BIDI_STREAM,
        (request, stream, call) -> {
          MessageStream messages = there(stream);
          serve.handle(
              (Receiver<Q>) (Receiver<?>) messages, (Sender<R>) (Sender<?>) messages, call);
          return null;
        });
  }

  /** Serves a server-streaming method with a publisher. */
  @SuppressWarnings("unchecked")
  public static <Q, R> Handler serverPublisher(
      Method<Q, R> method, ServerPublishing<? super Q, ? extends R> serve) {
    Objects.requireNonNull(serve, "serve");
    return later(
        method,
        Kind.SERVER_STREAM,
        (request, stream, call) ->
            published(serve.handle((Q) there(request), call), there(stream)));
  }

  /** Serves a bidi-streaming method with a publisher. */
  @SuppressWarnings("unchecked")
  public static <Q, R> Handler bidiPublisher(
      Method<Q, R> method, BidiPublishing<Q, ? extends R> serve) {
    Objects.requireNonNull(serve, "serve");
    return later(
        method,
        Kind.BIDI_STREAM,
        (request, stream, call) -> {
          MessageStream messages = there(stream);
          Receiver<Q> requests = (Receiver<Q>) (Receiver<?>) messages;
          return published(serve.handle(requests.publisher(), call), messages);
        });
  }

  /**
   * Serves a method that streams, of any kind, with what sends and receives without waiting.
   *
   * @throws IllegalArgumentException for a method that does not stream
   */
  @SuppressWarnings("unchecked")
  public static <Q, R> Handler streamAsync(Method<Q, R> method, StreamingAsync<Q, R> serve) {
    Objects.requireNonNull(serve, "serve");
    if (!method.kind().streams()) {
      throw new IllegalArgumentException(
          method.name() + " is " + method.kind() + ": its handler cannot stream");
    }
    return later(
        method,
        method.kind(),
        (request, stream, call) -> {
          MessageStream messages = there(stream);
          return serve.handle(
              (Q) request,
              (Receiver<Q>) (Receiver<?>) messages,
              (Sender<R>) (Sender<?>) messages,
              call);
        });
  }

  /**
   * The same on the event loop, which saves the way to a thread and back. It must not block: all
   * connections of the loop wait meanwhile. Blocking calls of Trunkcall are refused there.
   *
   * @throws IllegalArgumentException for one that sends and receives by waiting
   */
  public Handler inline() {
    if (method.kind().streams() && !later) {
      throw new IllegalArgumentException(
          method.name() + " is " + method.kind() + ": on the loop it can only be a publisher");
    }
    return new Handler(method, run, later, true, safe);
  }

  /**
   * The same, declared to have no side effects, so that clients of HTTP may call it by GET.
   *
   * @throws IllegalArgumentException for a method that is not unary
   */
  public Handler noSideEffects() {
    if (method.kind() != Kind.UNARY) {
      throw new IllegalArgumentException(
          method.name() + " is " + method.kind() + ": only unary methods can be called by GET");
    }
    return new Handler(method, run, later, inline, true);
  }

  boolean hasNoSideEffects() {
    return safe;
  }

  /** What is served. */
  public Method<?, ?> method() {
    return method;
  }

  boolean isInline() {
    return inline;
  }

  /** Whether {@link #run} returns a {@link CompletionStage}. */
  boolean answersLater() {
    return later;
  }

  Run run() {
    return run;
  }

  private static CompletionStage<@Nullable Void> published(
      Flow.Publisher<?> responses, MessageStream stream) {
    CompletableFuture<@Nullable Void> done =
        SenderSubscriber.<Object>subscribe(responses, stream, () -> {}, () -> {});
    return done;
  }

  private static Handler of(Method<?, ?> method, Kind kind, Run run) {
    return checked(method, kind, run, false);
  }

  private static Handler later(Method<?, ?> method, Kind kind, Run run) {
    return checked(method, kind, run, true);
  }

  private static Handler checked(Method<?, ?> method, Kind kind, Run run, boolean later) {
    if (method.kind() != kind) {
      throw new IllegalArgumentException(
          method.name() + " is " + method.kind() + ": its handler cannot be " + kind);
    }
    return new Handler(method, run, later, false, false);
  }

  private static <T> T there(@Nullable T given) {
    if (given == null) {
      throw new IllegalStateException("a handler was called without what its method takes");
    }
    return given;
  }
}
