package io.trunkcall;

import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * A future that users may wait for, and only its owner completes. It is given out as it is: a copy
 * for each who asks would stay with it.
 */
final class Milestone extends CompletableFuture<@Nullable Void> {
  /** It is reached. False: it was. */
  boolean reach() {
    return super.complete(null);
  }

  @Override
  public boolean complete(@Nullable Void value) {
    return false;
  }

  @Override
  public boolean completeExceptionally(Throwable thrown) {
    return false;
  }

  @Override
  public boolean cancel(boolean interrupts) {
    return false;
  }

  @Override
  public void obtrudeValue(@Nullable Void value) {
    throw new UnsupportedOperationException("it is its owner's");
  }

  @Override
  public void obtrudeException(Throwable thrown) {
    throw new UnsupportedOperationException("it is its owner's");
  }

  @Override
  public <T> CompletableFuture<T> newIncompleteFuture() {
    return new CompletableFuture<>();
  }
}
