package io.trunkcall;

import io.trunkcall.internal.transport.Clock;
import io.trunkcall.internal.transport.LoneCalls;
import io.trunkcall.internal.transport.Work;
import io.trunkcall.internal.wire.Exchange;
import io.trunkcall.internal.wire.LimitException;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import javax.net.ssl.SSLSession;
import org.jspecify.annotations.Nullable;

/**
 * A call as its handler sees it: what came with it, what goes with its answer, and whether it is
 * over. How it is run and answered is in {@link ServingCall}.
 */
abstract class ServedCall extends Work implements ServerCall {
  final ServingEnd end;
  final Served served;
  final Exchange incoming;
  final long deadline; // µs of Clock, 0: none
  private @Nullable Object principal;
  private @Nullable LoneCalls lone; // where it is counted until it is over
  private volatile @Nullable List<Compression> compression;

  // Guarded by this; nothing that waits is done under it. Volatile: looked at for each message.
  private @Nullable Metadata headers;
  private @Nullable Metadata trailers;
  private volatile boolean headersSent;
  private @Nullable Thread runner; // whom to interrupt
  private @Nullable List<Runnable> onCancel;
  private volatile @Nullable String stopped;
  private @Nullable CompletableFuture<?> pending; // what an asynchronous handler has returned

  ServedCall(ServingEnd end, Served served, Exchange incoming) {
    this.end = end;
    this.served = served;
    this.incoming = incoming;
    this.deadline = incoming.deadline();
  }

  /** The messages of the call, if it has a stream of them, end with it. */
  abstract void pipeOver();

  // For those around it.

  Serving serving() {
    return end.serving;
  }

  Kind kind() {
    return served.kind;
  }

  boolean isStopped() {
    return stopped != null;
  }

  long deadlineMicros() {
    return deadline;
  }

  boolean isLate() {
    return deadline != 0 && deadline <= Clock.micros();
  }

  void onLoop(Runnable work) {
    if (served.handler.isInline() && end.line().loop().inEventLoop()) {
      work.run();
    } else {
      end.line().submit(work);
    }
  }

  void principal(@Nullable Object principal) {
    this.principal = principal;
  }

  /** It is counted among those that are served. On the loop. */
  void counted(LoneCalls calls) {
    lone = calls;
  }

  /** It is answered, or refused. */
  void countNoMore() {
    LoneCalls counted = lone;
    lone = null;
    if (counted != null) {
      counted.answered();
    }
  }

  // As handlers see it.

  @Override
  public Method<?, ?> method() {
    return served.method;
  }

  @Override
  public Metadata metadata() {
    return incoming.metadata();
  }

  @Override
  public String peer() {
    String said = incoming.peer();
    return said.isEmpty() ? end.line().remote() : said;
  }

  @Override
  public String authority() {
    return incoming.authority();
  }

  @Override
  public Executor executor() {
    return served.handler.isInline() ? end.line().loop() : end.serving.executor;
  }

  @Override
  public int codec() {
    return incoming.codec();
  }

  @Override
  public @Nullable Object principal() {
    return principal;
  }

  @Override
  public @Nullable Server server() {
    return end.server();
  }

  @Override
  public Connection connection() {
    return end.caller();
  }

  @Override
  public @Nullable SSLSession tls() {
    return end.line().tls();
  }

  @Override
  public boolean oneWay() {
    return incoming.oneway();
  }

  @Override
  public @Nullable Duration timeRemaining() {
    return deadline == 0
        ? null
        : Duration.of(Math.max(deadline - Clock.micros(), 0), ChronoUnit.MICROS);
  }

  @Override
  public int attempt() {
    return Math.max(incoming.attempt(), 1);
  }

  @Override
  public boolean cancelled() {
    return isStopped();
  }

  @Override
  public void onCancel(Runnable function) {
    Objects.requireNonNull(function, "function");
    synchronized (this) {
      if (stopped == null) {
        if (onCancel == null) {
          onCancel = new ArrayList<>(1);
        }
        onCancel.add(function);
        return;
      }
    }
    tell(function);
  }

  @Override
  public boolean accepts(Compression one) {
    return end.accepts(incoming).contains(one.number());
  }

  @Override
  public void setCompression(Compression... inOrder) {
    compression = Packing.checked("compression", inOrder);
  }

  /** What its handler wants of its answers; null: nothing was said. */
  @Nullable List<Compression> compression() {
    return compression;
  }

  @Override
  public synchronized void setHeaders(Metadata metadata) {
    Objects.requireNonNull(metadata, "metadata");
    if (headersSent) {
      throw new IllegalStateException("the answer has begun, its headers can no longer be changed");
    }
    headers = headers == null ? metadata : headers.toBuilder().addAll(metadata).build();
  }

  @Override
  public void sendHeaders(Metadata metadata) {
    setHeaders(metadata);
    onLoop(
        () -> {
          try {
            flushHeaders();
          } catch (LimitException | IllegalArgumentException e) {
            // What cannot be sent ends the call when it is to end: nobody waits here.
            end.serving.journal.log(
                System.Logger.Level.WARNING,
                "headers cannot be sent",
                method().name() + ": " + e.getMessage(),
                null);
          }
          end.line().schedule();
        });
  }

  @Override
  public synchronized void setTrailers(Metadata metadata) {
    Objects.requireNonNull(metadata, "metadata");
    trailers = trailers == null ? metadata : trailers.toBuilder().addAll(metadata).build();
  }

  // What it has set.

  /** Sends the headers if there are some and they were not sent. */
  void flushHeaders() {
    if (headersSent) {
      return;
    }
    Metadata early;
    synchronized (this) {
      early = headersSent ? null : headers;
      headersSent = true;
    }
    if (early != null && !early.isEmpty() && !incoming.over()) {
      incoming.sendMetadata(early);
    }
  }

  synchronized Metadata trailersNow() {
    return trailers == null ? Metadata.EMPTY : trailers;
  }

  /** Early metadata that was not sent. */
  synchronized Metadata headersUnsent() {
    return headers == null || headersSent ? Metadata.EMPTY : headers;
  }

  // Its end.

  /** Whom to interrupt when the call is over. */
  void runOn(@Nullable Thread thread) {
    synchronized (this) {
      runner = thread;
    }
  }

  /** What the handler has returned is cancelled when its call is over. */
  void waitFor(CompletionStage<?> stage) {
    if (!(stage instanceof CompletableFuture<?> future)) {
      return;
    }
    synchronized (this) {
      if (stopped == null) {
        pending = future;
        return;
      }
    }
    tell(() -> cancel(future));
  }

  /** The session has ended the call, or its side is closed. */
  void stop(String why) {
    List<Runnable> told;
    CompletableFuture<?> answers;
    synchronized (this) {
      if (stopped != null) {
        return;
      }
      stopped = why;
      told = onCancel;
      onCancel = null;
      answers = pending;
      if (runner != null) {
        runner.interrupt();
      }
    }
    pipeOver();
    if (told != null) {
      told.forEach(this::tell);
    }
    if (answers != null) {
      tell(() -> cancel(answers));
    }
  }

  private static void cancel(CompletableFuture<?> answers) {
    try {
      answers.cancel(true);
    } catch (UnsupportedOperationException e) {
      // It is a minimal stage, which cannot be.
    }
  }

  /** Whatever users' code throws, the loop goes on: other calls and the connection depend on it. */
  private void tell(Runnable function) {
    try {
      function.run();
    } catch (Throwable e) {
      end.serving.journal.log(
          System.Logger.Level.ERROR,
          "what was to be told of the end of a call threw",
          method().name(),
          e);
    }
  }
}
