package io.trunkcall;

import java.util.Objects;
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
  private volatile boolean ended; // the publisher has nothing more, and nothing to be told

  private SenderSubscriber(Sender<? super T> sender, Runnable completed, Runnable failed) {
    this.sender = sender;
    this.completed = completed;
    this.failed = failed;
  }

  /**
   * Begins to. {@code completed} is run behind the last message, {@code failed} when the publisher
   * fails. Whoever completes or cancels the future wants nothing more: a publisher that rests would
   * never notice else.
   */
  static <T> CompletableFuture<@Nullable Void> subscribe(
      Flow.Publisher<? extends T> messages,
      Sender<? super T> sender,
      Runnable completed,
      Runnable failed) {
    SenderSubscriber<T> made = new SenderSubscriber<>(sender, completed, failed);
    made.done.whenComplete((none, error) -> made.cancel());
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
    if (done.isDone()) {
      given.cancel();
    } else {
      given.request(1);
    }
  }

  private void cancel() {
    Flow.Subscription from = subscription;
    if (from != null && !ended) {
      from.cancel();
    }
  }

  @Override
  public void onNext(T message) {
    Objects.requireNonNull(message, "message");
    Flow.Subscription from = Objects.requireNonNull(subscription, "subscription");
    if (done.isDone()) {
      return; // it was on its way when this was cancelled
    }
    CompletableFuture<Boolean> sent;
    try {
      sent = sender.sendAsync(message);
    } catch (Throwable e) {
      done.completeExceptionally(e);
      return;
    }
    sent.whenComplete(
        (more, error) -> {
          if (error != null) {
            done.completeExceptionally(CallFuture.unwrapped(error));
          } else if (!more) {
            done.complete(null);
          } else {
            from.request(1);
          }
        });
  }

  @Override
  public void onError(Throwable error) {
    Objects.requireNonNull(error, "error");
    ended = true;
    done.completeExceptionally(error); // ahead of the end of the call, which says less
    failed.run();
  }

  @Override
  public void onComplete() {
    ended = true;
    completed.run();
    done.complete(null);
  }
}
