package io.trunkcall;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Flow;
import org.jspecify.annotations.Nullable;

/**
 * A call of a streaming method at its caller.
 *
 * <p>It must be received to its end, cancelled, or closed, which cancels what has not ended.
 *
 * @param <Q> the requests
 * @param <R> the responses
 */
public interface ClientStream<Q, R> extends Sender<Q>, Receiver<R>, AutoCloseable {
  /** Says that no more messages are sent. A second half-close does nothing. */
  void halfClose();

  /** Ends the call with CANCELLED if it has not ended; messages not received are dropped. */
  void cancel();

  /** Cancels the call if it has not ended. */
  @Override
  default void close() {
    cancel();
  }

  /** How the call ended, once it has. Messages that were not received may keep it from ending. */
  CompletableFuture<Status> status();

  /** The metadata ahead of the answer, empty if there was none, once that is known. */
  CompletableFuture<Metadata> headers();

  /** The metadata that came with the end of the call; empty before. */
  Metadata trailers();

  /** The server's address; empty before the call was opened. */
  String peer();

  /**
   * Half-closes, and waits for the one response of a client-streaming method.
   *
   * @throws StatusException when the call has failed
   */
  default R response() {
    halfClose();
    R message = receive();
    if (message == null) {
      throw Failures.local(
          Code.UNIMPLEMENTED, "there is no message where one is expected", Delivery.EXECUTED);
    }
    if (receive() != null) {
      cancel();
      throw Failures.local(
          Code.UNIMPLEMENTED, "there are several messages where one is expected", Delivery.UNKNOWN);
    }
    return message;
  }

  @Override
  default Flow.Publisher<R> publisher() {
    return new ReceiverPublisher<>(this, this::cancel);
  }

  /**
   * Sends what a publisher publishes, asking for more as the other side consumes, and half-closes
   * behind the last. An error of the publisher cancels the call. The future is done when all is
   * sent or the call is over.
   */
  default CompletableFuture<@Nullable Void> sendAll(Flow.Publisher<? extends Q> messages) {
    CompletableFuture<@Nullable Void> sent =
        SenderSubscriber.subscribe(messages, this, this::halfClose, this::cancel);
    status().thenRun(() -> sent.complete(null));
    return sent;
  }
}
