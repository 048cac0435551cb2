package io.trunkcall;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The result of a call: to cancel it cancels the call. */
class CallFuture<T> extends CompletableFuture<T> {
  private final Runnable cancel;

  CallFuture(Runnable cancel) {
    this.cancel = cancel;
  }

  /** What {@code made} makes of the result of another. */
  static <A extends @Nullable Object, T extends @Nullable Object> CallFuture<T> of(
      CompletableFuture<A> from, Function<A, T> made) {
    CallFuture<T> to = new CallFuture<>(() -> from.cancel(false));
    from.whenComplete(
        (result, error) -> {
          if (error != null) {
            to.completeExceptionally(unwrapped(error));
            return;
          }
          try {
            to.complete(made.apply(result));
          } catch (Throwable e) {
            to.completeExceptionally(e);
          }
        });
    return to;
  }

  static Throwable unwrapped(Throwable error) {
    return error instanceof CompletionException && error.getCause() != null
        ? error.getCause()
        : error;
  }

  @Override
  public boolean cancel(boolean mayInterruptIfRunning) {
    boolean cancelled = super.cancel(mayInterruptIfRunning);
    if (cancelled) {
      cancel.run();
    }
    return cancelled;
  }
}
