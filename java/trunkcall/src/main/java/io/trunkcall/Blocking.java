package io.trunkcall;

import io.trunkcall.internal.transport.Loops;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.jspecify.annotations.Nullable;

/** Waiting for what an event loop brings about. */
public final class Blocking {
  private Blocking() {}

  /**
   * Makes a unary call for which this thread waits next. So it may make it by itself, and the call
   * may be over when this returns. Any thread that {@link #refuseOnLoop} lets wait.
   */
  public static <Q, R> CompletableFuture<Response<R>> unary(
      Caller caller, Method<Q, R> method, Q request, CallOptions options) {
    return caller instanceof Calls calls
        ? calls.unary(method, request, options, true)
        : caller.unary(method, request, options);
  }

  static <T> T get(CompletableFuture<T> future) {
    T found = Blocking.<T>getNullable(future);
    if (found == null) {
      throw new IllegalStateException("a future has no result");
    }
    return found;
  }

  static <T> @Nullable T getNullable(CompletableFuture<? extends @Nullable T> future) {
    if (!future.isDone()) {
      refuseOnLoop();
    }
    try {
      return future.get();
    } catch (InterruptedException e) {
      future.cancel(true);
      Thread.currentThread().interrupt();
      throw Failures.local(
          Code.CANCELLED, "the thread was interrupted while it waited", Delivery.UNKNOWN);
    } catch (CancellationException e) {
      throw Failures.local(Code.CANCELLED, "cancelled by the caller", Delivery.UNKNOWN);
    } catch (ExecutionException e) {
      throw thrown(e.getCause() == null ? e : e.getCause());
    }
  }

  /**
   * For what waits for a call: an event loop that waits for itself would wait for ever, and so
   * would all its connections.
   *
   * @throws IllegalStateException on an event loop, with what to do instead
   */
  public static void refuseOnLoop() {
    if (Loops.onLoop()) {
      throw new IllegalStateException(
          "this would block an event loop of Trunkcall ("
              + Thread.currentThread().getName()
              + "): use the form that returns a future, go on with thenApplyAsync on an executor of"
              + " your own, or do not run the handler on the loop");
    }
  }

  private static RuntimeException thrown(Throwable cause) {
    if (cause instanceof StatusException failed) {
      // The stack of the thread that waits says more than that of the event loop.
      StatusException here =
          new StatusException(failed.status(), failed.trailers(), failed.headers(), failed.peer());
      here.initCause(failed.getCause());
      return here;
    }
    if (cause instanceof RuntimeException unchecked) {
      return unchecked;
    }
    if (cause instanceof Error error) {
      throw error;
    }
    return new IllegalStateException(cause);
  }
}
