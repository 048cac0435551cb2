package io.trunkcall.registry;

import io.trunkcall.Sender;
import io.trunkcall.Status;
import io.trunkcall.StatusException;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * A call that an embedded registry serves, of answers R. Used on the registry's thread.
 *
 * <p>One answer at a time is sent, so that who does not take them has the registry hold little.
 */
abstract class RegistryCall<R> {
  final RegistryServer registry;
  final long number;
  private final Sender<R> answers;
  private CompletableFuture<@Nullable R> result = new CompletableFuture<>();
  private @Nullable Status error; // with which it is to end
  private boolean sending;

  RegistryCall(RegistryServer registry, long number, Sender<R> answers) {
    this.registry = registry;
    this.number = number;
    this.answers = answers;
  }

  /** It has begun; it ends with the result. */
  final void begin(CompletableFuture<@Nullable R> end) {
    this.result = end;
    begun();
  }

  abstract void begun();

  /** The core tells it something. */
  final void told(RegistryCore.Telling what) {
    if (what.error() != null) {
      error = what.error();
    } else {
      take(what);
    }
    proceed();
  }

  abstract void take(RegistryCore.Telling what);

  /** What is to be sent next; null if there is nothing. */
  abstract @Nullable R next();

  private void proceed() {
    if (result.isDone()) {
      return;
    }
    if (error != null) {
      end(new StatusException(error));
      return;
    }
    R one = sending ? null : next();
    if (one != null) {
      sending = true;
      answers.sendAsync(one).whenCompleteAsync(this::sent, registry.thread());
    }
  }

  private void sent(@Nullable Boolean open, @Nullable Throwable fault) {
    sending = false;
    if (fault != null || open == null || !open) {
      registry.over(this);
    } else {
      proceed();
    }
  }

  /** Ends the call, well if there is no failure. */
  final void end(@Nullable Throwable failure) {
    registry.over(this);
    if (failure == null) {
      result.complete(null);
    } else {
      result.completeExceptionally(failure);
    }
  }
}
