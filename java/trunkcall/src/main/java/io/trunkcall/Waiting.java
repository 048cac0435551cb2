package io.trunkcall;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Waiting for a time. */
final class Waiting {
  private Waiting() {}

  /** Whether it was done within so many µs. */
  static boolean done(CompletableFuture<?> future, long micros) {
    try {
      future.get(micros, TimeUnit.MICROSECONDS);
      return true;
    } catch (TimeoutException e) {
      return false;
    } catch (ExecutionException e) {
      return true;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }
}
