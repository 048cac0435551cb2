package io.trunkcall;

import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Flow;
import org.jspecify.annotations.Nullable;

/**
 * What the messages of a stream are received from: one by one, by iterating, or as a publisher. One
 * thread at a time receives, while another may send.
 *
 * @param <T> the messages
 */
public interface Receiver<T> extends Iterable<T> {
  /**
   * The next message, waited for; null when the other side has sent all and, at the caller, the
   * call has succeeded.
   *
   * @throws StatusException when the call has failed, or was ended
   */
  default @Nullable T receive() {
    return Blocking.getNullable(receiveAsync());
  }

  /** The next message, null at the end. The one before must have come. */
  CompletableFuture<@Nullable T> receiveAsync();

  /** The messages, each of which is waited for. To be iterated once. */
  @Override
  default Iterator<T> iterator() {
    return new Iterator<>() {
      private @Nullable T next;
      private boolean over;

      @Override
      public boolean hasNext() {
        if (next == null && !over) {
          next = receive();
          over = next == null;
        }
        return !over;
      }

      @Override
      public T next() {
        if (!hasNext()) {
          throw new NoSuchElementException();
        }
        T found = next;
        next = null;
        if (found == null) {
          throw new NoSuchElementException();
        }
        return found;
      }
    };
  }

  /**
   * The messages as a publisher, for one subscriber. What it asks for is what is received: the
   * other side is slowed down by a subscriber that does not ask.
   */
  default Flow.Publisher<T> publisher() {
    return new ReceiverPublisher<>(this, () -> {});
  }
}
