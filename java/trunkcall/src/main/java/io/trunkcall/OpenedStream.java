package io.trunkcall;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/** A stream of a client or a connection: the messages of a call, perhaps behind interceptors. */
final class OpenedStream<Q, R> implements ClientStream<Q, R> {
  private final CompletableFuture<MessageStream> inner;
  private volatile @Nullable StreamCall plain; // of the last attempt
  private volatile boolean cancelled;

  /** The messages of a call that nobody intercepts. */
  OpenedStream(StreamCall plain) {
    this.plain = plain;
    this.inner = CompletableFuture.completedFuture(plain.pipe);
  }

  /** What interceptors make of the calls that they are told of by {@link #began}. */
  OpenedStream() {
    this.inner = new CompletableFuture<>();
  }

  void began(StreamCall call) {
    plain = call;
    if (cancelled) {
      call.cancel();
    }
  }

  /** What interceptors have made. */
  void follow(CompletionStage<? extends @Nullable Object> made, Streaming from) {
    made.whenComplete(
        (stream, error) -> {
          if (error == null && stream instanceof MessageStream messages) {
            inner.complete(messages);
            return;
          }
          StatusException failure = from.failure(error == null ? null : error);
          StreamCall call = plain;
          if (call != null) {
            call.cancel();
          }
          inner.completeExceptionally(failure);
        });
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
    MessageStream there = now();
    CompletableFuture<@Nullable Object> found =
        there != null ? there.receiveAsync() : inner.thenCompose(Receiver::receiveAsync);
    return (CompletableFuture<@Nullable R>) (CompletableFuture<?>) found;
  }

  @Override
  @SuppressWarnings("unchecked")
  public @Nullable R receive() {
    MessageStream there = now();
    return there != null ? (@Nullable R) there.receive() : ClientStream.super.receive();
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
