package io.trunkcall.internal.transport;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;

/** Waiting with patience. */
final class Wait {
  static final long PATIENCE = 30; // s

  private Wait() {}

  static <T> T result(CompletableFuture<T> future) throws Exception {
    return future.get(PATIENCE, TimeUnit.SECONDS);
  }

  /** The failure of a future that is to fail. */
  static Throwable failure(CompletableFuture<?> future) throws Exception {
    try {
      Object made = future.get(PATIENCE, TimeUnit.SECONDS);
      throw new AssertionError("it did not fail, but gave " + made);
    } catch (ExecutionException failed) {
      return failed.getCause();
    }
  }
}
