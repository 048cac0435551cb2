package io.trunkcall;

import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.Executor;
import java.util.function.Supplier;
import javax.net.ssl.SSLSession;
import org.jspecify.annotations.Nullable;

/**
 * One call at the side that serves it: a server, or a client that its server calls. May be used by
 * any thread until the handler has returned.
 *
 * <p>It is also the context of what the handler does: calls that are made while it is {@link
 * #current} have its deadline at the latest. It is current on the thread that the handler runs on;
 * {@link #run}, {@link #call} and {@link #wrap} take it to others.
 */
public interface ServerCall {
  /** The call that the running handler serves; null outside of handlers. */
  static @Nullable ServerCall current() {
    return CurrentCall.get();
  }

  /**
   * Runs {@code task} with no call as the current one, so that calls that it makes do not have this
   * handler's deadline.
   */
  static <T extends @Nullable Object> T detached(Supplier<T> task) {
    ServerCall before = CurrentCall.set(null);
    try {
      return task.get();
    } finally {
      CurrentCall.set(before);
    }
  }

  /** What is called. */
  Method<?, ?> method();

  /** The metadata of the request. */
  Metadata metadata();

  /** How much the call matters, as its caller says. */
  default Priority priority() {
    return Priorities.in(metadata());
  }

  /** The caller's address. */
  String peer();

  /** The host, and perhaps port, that a caller by HTTP asked for; empty for others. */
  String authority();

  /** The number of the codec that its messages are in. */
  int codec();

  /** Who calls, as the server's admission says; null if it says nothing. */
  @Nullable Object principal();

  /**
   * The server that serves the call, whose {@link Server#leaving} and {@link Server#stopping} a
   * handler without an end of its own listens to; null at a client, which serves its server.
   */
  @Nullable Server server();

  /** The connection that the call came over: what calls its caller. */
  Connection connection();

  /** The connection's TLS; null in the clear. */
  @Nullable SSLSession tls();

  /** Whether the caller was told that the call is accepted, and hears nothing more of it. */
  boolean oneWay();

  /**
   * The time until the deadline, zero if it has passed; null if there is none. One more than 71
   * minutes away is known to the caller alone, which cancels the call when it passes.
   */
  @Nullable Duration timeRemaining();

  /** 1, or more when the caller repeats the call (protocol.md 5.2). */
  int attempt();

  /** Whether the call has ended without its handler: cancelled, out of time, connection lost. */
  boolean cancelled();

  /** Has {@code function} called once when the call ends without its handler, or now if it has. */
  void onCancel(Runnable function);

  /**
   * Adds to the metadata that goes ahead of the answer.
   *
   * @throws IllegalStateException once that was sent
   */
  void setHeaders(Metadata metadata);

  /** Sends the metadata that goes ahead of the answer, with what was added to it, now. */
  void sendHeaders(Metadata metadata);

  /** Adds to the metadata that goes with the end of the call. */
  void setTrailers(Metadata metadata);

  /** Whether the caller takes answers in a compression. */
  boolean accepts(Compression one);

  /**
   * What answers are compressed with from now on, in place of what the server was told: the first
   * of these that the caller accepts; with none, never.
   *
   * @throws IllegalArgumentException for one that is neither gzip nor zstd by its number
   */
  void setCompression(Compression... inOrder);

  /**
   * Where its handler was begun: the executor of its side, or the event loop for one that is {@link
   * Handler#inline}. It does not make this call the current one: see {@link #wrap}.
   */
  Executor executor();

  /** Runs {@code task} on this thread with this call as the current one. */
  default void run(Runnable task) {
    ServerCall before = CurrentCall.set(this);
    try {
      task.run();
    } finally {
      CurrentCall.set(before);
    }
  }

  /**
   * The same, but that calls which it makes do not have this call's deadline. They have its
   * priority.
   */
  default void runWithoutDeadline(Runnable task) {
    CurrentCall.runUntimed(this, task);
  }

  /** Runs {@code task} on this thread with this call as the current one. */
  default <T> T call(Callable<T> task) throws Exception {
    ServerCall before = CurrentCall.set(this);
    try {
      return task.call();
    } finally {
      CurrentCall.set(before);
    }
  }

  /** An executor that runs its tasks with this call as the current one. */
  default Executor wrap(Executor executor) {
    return task -> executor.execute(() -> run(task));
  }
}
