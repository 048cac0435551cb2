package io.trunkcall.load;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;

/** Begins one call and returns at once. The next one begins when this one has ended. */
@FunctionalInterface
public interface AsyncCall {
  /** Is told how a call ended, once, on any thread, perhaps before {@code start} has returned. */
  @FunctionalInterface
  interface Ended {
    /**
     * @param failure null if the call succeeded, {@link Untimed} and {@link Stopped} as for {@link
     *     Call}
     */
    void ended(Throwable failure);
  }

  void start(Ended ended) throws Exception;

  /** The same as a call that is waited for. */
  default Call waiting() {
    return () -> {
      CompletableFuture<Void> end = new CompletableFuture<>();
      start(
          failure -> {
            if (failure == null) {
              end.complete(null);
            } else {
              end.completeExceptionally(failure);
            }
          });
      try {
        end.get();
      } catch (ExecutionException e) {
        if (e.getCause() instanceof Exception failure) {
          throw failure;
        }
        throw e;
      }
    };
  }
}
