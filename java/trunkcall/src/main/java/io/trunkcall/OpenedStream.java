package io.trunkcall;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;

/** A stream of a client or a connection: the messages of a call, perhaps behind interceptors. */
final class OpenedStream<Q, R> implements ClientStream<Q, R> {
  private final CompletableFuture<MessageStream> inner;
  private volatile @Nullable StreamCall plain; // of the last attempt, or of which they are
  private final List<StreamCall> tried; // by interceptors
  private volatile boolean cancelled;
  private volatile boolean wrapped; // who made the messages of several attempts ends these
  private @Nullable Early early; // who received last before there was a stream

  /** The messages of a call that nobody intercepts. */
  OpenedStream(StreamCall plain) {
    this.plain = plain;
    this.tried = List.of();
    this.inner = CompletableFuture.completedFuture(plain.pipe);
  }

  /** What interceptors make of the calls that they are told of by {@link #began}. */
  OpenedStream() {
    this.tried = new CopyOnWriteArrayList<>();
    this.inner = new CompletableFuture<>();
  }

  void began(StreamCall call) {
    plain = call;
    tried.add(call);
    if (cancelled || inner.isCompletedExceptionally()) {
      call.cancel();
    }
  }

  /** What interceptors have made. */
  void follow(CompletionStage<? extends @Nullable Object> made, Streaming from) {
    made.whenComplete(
        (stream, error) -> {
          if (error == null && stream instanceof MessageStream messages) {
            endTogether(messages);
            inner.complete(messages);
            return;
          }
          StatusException failure = from.failure(error == null ? null : error);
          endAll();
          inner.completeExceptionally(failure);
        });
  }

  /**
   * Has all attempts end with the call: with the one whose messages they are, or once who wraps
   * them has told the end. Interceptors may read from several until then.
   */
  private void endTogether(MessageStream messages) {
    if (tried.size() < 2) {
      return;
    }
    for (StreamCall one : tried) {
      if (one.pipe == messages) {
        plain = one;
        one.status.thenRun(() -> endAllBut(one)); // of which messages may be left
        return;
      }
    }
    wrapped = true;
  }

  private void endAll() {
    endAllBut(null);
  }

  private void endAllBut(@Nullable StreamCall kept) {
    tried.stream().filter(one -> one != kept).forEach(StreamCall::cancel);
  }

  /** Where attempts are wrapped, the end that is received is that of all. */
  private CompletableFuture<@Nullable Object> watched(
      CompletableFuture<@Nullable Object> received) {
    if (wrapped || !inner.isDone()) {
      received.whenComplete(
          (message, error) -> {
            if (wrapped && message == null && !received.isCancelled()) {
              endAll();
            }
          });
    }
    return received;
  }

  /** What is known of the attempts that interceptors made. */
  interface Streaming {
    StatusException failure(@Nullable Throwable error);
  }

  @Override
  public CompletableFuture<Boolean> sendAsync(Q message) {
    MessageStream there = now();
    return there != null
        ? there.sendAsync(message)
        : inner.thenCompose(stream -> stream.sendAsync(message));
  }

  @Override
  @SuppressWarnings("unchecked")
  public CompletableFuture<@Nullable R> receiveAsync() {
    return (CompletableFuture<@Nullable R>) (CompletableFuture<?>) received();
  }

  private CompletableFuture<@Nullable Object> received() {
    Object left = leftEarly();
    if (left != null) {
      return CompletableFuture.completedFuture(left);
    }
    MessageStream there = now();
    if (there != null) {
      return watched(there.receiveAsync());
    }
    Early waits = new Early();
    early = waits;
    inner.whenComplete(waits::begin);
    return watched(waits);
  }

  /** A message that came for who received early, and that he has not had, as he gave up. */
  private @Nullable Object leftEarly() {
    Early one = early;
    if (one == null) {
      return null;
    }
    if (!one.isDone()) {
      throw new IllegalStateException("another receives from this stream");
    }
    early = null;
    return one.left();
  }

  /** Who receives before interceptors have made the stream. Any thread. */
  private static final class Early extends CompletableFuture<@Nullable Object> {
    private @Nullable CompletableFuture<@Nullable Object> found; // guarded by this

    void begin(@Nullable MessageStream stream, @Nullable Throwable error) {
      if (stream == null) {
        completeExceptionally(error == null ? new IllegalStateException("no stream") : error);
        return;
      }
      CompletableFuture<@Nullable Object> made;
      synchronized (this) {
        if (isDone()) {
          return;
        }
        made = stream.receiveAsync();
        found = made;
      }
      made.whenComplete(this::pass);
      whenComplete((message, failure) -> made.cancel(false)); // of one who gives up
    }

    private void pass(@Nullable Object message, @Nullable Throwable error) {
      if (error == null) {
        complete(message);
      } else {
        completeExceptionally(CallFuture.unwrapped(error));
      }
    }

    /** Once it is done: the message that it was not completed with; null: there is none. */
    @Nullable Object left() {
      CompletableFuture<@Nullable Object> made;
      synchronized (this) {
        made = found;
      }
      if (made == null || made.cancel(false) || made.isCompletedExceptionally()) {
        return null;
      }
      Object message = made.join();
      return isCompletedExceptionally() ? message : null;
    }
  }

  @Override
  @SuppressWarnings("unchecked")
  public @Nullable R receive() {
    MessageStream there = now();
    return there != null && early == null && !wrapped
        ? (@Nullable R) there.receive()
        : ClientStream.super.receive();
  }

  private @Nullable MessageStream now() {
    return inner.isDone() && !inner.isCompletedExceptionally() ? inner.join() : null;
  }

  @Override
  public void halfClose() {
    if (inner.isDone()) {
      StreamCall call = plain;
      if (call != null) {
        call.pipe.halfClose();
      }
    } else {
      inner.whenComplete((stream, error) -> halfClose());
    }
  }

  @Override
  public void cancel() {
    cancelled = true;
    StreamCall call = plain;
    if (call != null) {
      call.cancel();
      endAll();
    } else { // interceptors have not gone on, and may never do
      inner.completeExceptionally(
          Failures.local(Code.CANCELLED, "cancelled by the caller", Delivery.NOT_SENT));
    }
  }

  @Override
  public CompletableFuture<Status> status() {
    CompletableFuture<Status> found = new CompletableFuture<>();
    inner.whenComplete(
        (stream, error) -> {
          StreamCall call = plain;
          if (error != null) {
            found.complete(Interceptions.ended(error));
          } else if (call == null) {
            found.complete(Status.OK);
          } else {
            call.status.thenAccept(found::complete);
          }
        });
    return found;
  }

  @Override
  public CompletableFuture<Metadata> headers() {
    CompletableFuture<Metadata> found = new CompletableFuture<>();
    inner.whenComplete(
        (stream, error) -> {
          StreamCall call = plain;
          if (error != null || call == null) {
            found.complete(Metadata.EMPTY);
          } else {
            call.headers.thenAccept(found::complete);
          }
        });
    return found;
  }

  @Override
  public Metadata trailers() {
    StreamCall call = plain;
    return call == null ? Metadata.EMPTY : call.trailers();
  }

  @Override
  public String peer() {
    StreamCall call = plain;
    return call == null ? "" : call.peer();
  }
}
