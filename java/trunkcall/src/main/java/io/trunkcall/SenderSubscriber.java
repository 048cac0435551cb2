package io.trunkcall;

import java.util.Objects;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Flow;
import org.jspecify.annotations.Nullable;

/** Sends what a publisher publishes, one message after the other. */
final class SenderSubscriber<T> implements Flow.Subscriber<T> {
  private final Sender<? super T> sender;
  private final Runnable completed;
  private final Runnable failed;
  private final CompletableFuture<@Nullable Void> done = new CompletableFuture<>();
  private volatile Flow.@Nullable Subscription subscription;

  private SenderSubscriber(Sender<? super T> sender, Runnable completed, Runnable failed) {
    this.sender = sender;
    this.completed = completed;
    this.failed = failed;
  }

  /**
   * Begins to. {@code completed} is run behind the last message, {@code failed} when the publisher
   * fails.
   */
  static <T> CompletableFuture<@Nullable Void> subscribe(
      Flow.Publisher<? extends T> messages,
      Sender<? super T> sender,
      Runnable completed,
      Runnable failed) {
    SenderSubscriber<T> made = new SenderSubscriber<>(sender, completed, failed);
    made.done.whenComplete((none, error) -> made.cancelIf(error));
    messages.subscribe(made);
    return made.done;
  }

  @Override
  public void onSubscribe(Flow.Subscription given) {
    Objects.requireNonNull(given, "subscription");
    if (subscription != null) {
      given.cancel();
      return;
    }
    subscription = given;
    if (done.isCancelled()) {
      given.cancel();
      return;
    }
    given.request(1);
  }

  /** Who cancels the future wants nothing more: a publisher that rests would never be told. */
  private void cancelIf(@Nullable Throwable error) {
    Flow.Subscription from = subscription;
    if (error instanceof CancellationException && from != null) {
      from.cancel();
    }
  }

  @Override
  public void onNext(T message) {
    Objects.requireNonNull(message, "message");
    Flow.Subscription from = Objects.requireNonNull(subscription, "subscription");
    CompletableFuture<Boolean> sent;
    try {
      sent = sender.sendAsync(message);
    } catch (RuntimeException e) {
      from.cancel();
      done.completeExceptionally(e);
      return;
    }
    sent.whenComplete(
        (more, error) -> {
          if (error != null) {
            from.cancel();
            done.completeExceptionally(CallFuture.unwrapped(error));
          } else if (!more) {
            from.cancel();
            done.complete(null);
          } else {
            from.request(1);
          }
        });
  }

  @Override
  public void onError(Throwable error) {
    Objects.requireNonNull(error, "error");
    failed.run();
    done.completeExceptionally(error);
  }

  @Override
  public void onComplete() {
    completed.run();
    done.complete(null);
  }
}
