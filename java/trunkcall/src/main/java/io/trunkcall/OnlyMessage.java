package io.trunkcall;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** The messages of a one-way call of a streaming method: one came, nobody takes another. */
final class OnlyMessage implements MessageStream {
  private final AtomicReference<@Nullable Object> message;

  OnlyMessage(@Nullable Object message) {
    this.message = new AtomicReference<>(message);
  }

  @Override
  public CompletableFuture<Boolean> sendAsync(Object answer) {
    return CompletableFuture.completedFuture(false);
  }

  @Override
  public CompletableFuture<@Nullable Object> receiveAsync() {
    return CompletableFuture.completedFuture(message.getAndSet(null));
  }
}
