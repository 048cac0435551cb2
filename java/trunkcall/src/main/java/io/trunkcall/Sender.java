package io.trunkcall;

import java.util.concurrent.CompletableFuture;

/**
 * What the messages of a stream are sent by. One thread at a time sends, while another may receive.
 *
 * @param <T> the messages
 */
public interface Sender<T> {
  /**
   * Sends a message, waiting while the other side is slow to consume. False: the call is over.
   *
   * @throws StatusException of a message that cannot be sent, or a call that could not be opened
   */
  default boolean send(T message) {
    return Blocking.get(sendAsync(message));
  }

  /**
   * Sends a message. The future is done when the next message may be sent; wait for it, so that
   * what is on its way remains bounded. False: the call is over.
   */
  CompletableFuture<Boolean> sendAsync(T message);
}
