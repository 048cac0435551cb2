package io.trunkcall;

import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Cancels the attempt that interceptors have begun last, and those that they still begin. */
final class Cancelling implements Runnable {
  private @Nullable CompletableFuture<?> last;
  private boolean cancelled;

  void add(CompletableFuture<?> attempt) {
    synchronized (this) {
      last = attempt;
      if (!cancelled) {
        return;
      }
    }
    attempt.cancel(false);
  }

  @Override
  public void run() {
    CompletableFuture<?> attempt;
    synchronized (this) {
      cancelled = true;
      attempt = last;
    }
    if (attempt != null) {
      attempt.cancel(false);
    }
  }
}
