package io.trunkcall;

import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Flow;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** Messages that are received as a publisher, for one subscriber. */
final class ReceiverPublisher<T> implements Flow.Publisher<T> {
  private final Receiver<T> receiver;
  private final Runnable cancel;
  private final AtomicBoolean subscribed = new AtomicBoolean();

  ReceiverPublisher(Receiver<T> receiver, Runnable cancel) {
    this.receiver = receiver;
    this.cancel = cancel;
  }

  @Override
  public void subscribe(Flow.Subscriber<? super T> subscriber) {
    Objects.requireNonNull(subscriber, "subscriber");
    if (subscribed.getAndSet(true)) {
      subscriber.onSubscribe(new Refused());
      subscriber.onError(
          new IllegalStateException(
              "the messages of a call have one subscriber, and there is one"));
      return;
    }
    Receiving receiving = new Receiving(subscriber);
    try {
      subscriber.onSubscribe(receiving);
    } catch (Throwable e) {
      receiving.cancel();
      throw e;
    }
    receiving.mayBegin();
  }

  private static final class Refused implements Flow.Subscription {
    @Override
    public void request(long n) {}

    @Override
    public void cancel() {}
  }

  private final class Receiving implements Flow.Subscription {
    private final AtomicLong wanted = new AtomicLong();
    // Whoever makes it 1 delivers, until it is 0 again: signals come one after the other. Held
    // until onSubscribe has returned.
    private final AtomicInteger turns = new AtomicInteger(1);
    private volatile Flow.@Nullable Subscriber<? super T> subscriber;
    private volatile @Nullable IllegalArgumentException bad;
    private @Nullable CompletableFuture<@Nullable T> next;

    Receiving(Flow.Subscriber<? super T> subscriber) {
      this.subscriber = subscriber;
    }

    @Override
    public void request(long n) {
      if (n <= 0) {
        bad = new IllegalArgumentException("request(" + n + "): want a number above 0 (rule 3.9)");
      } else {
        wanted.accumulateAndGet(n, (had, more) -> had + more < 0 ? Long.MAX_VALUE : had + more);
      }
      deliver();
    }

    @Override
    public void cancel() {
      if (subscriber != null) {
        subscriber = null;
        cancel.run();
      }
    }

    void mayBegin() {
      go();
    }

    private void deliver() {
      if (turns.getAndIncrement() == 0) {
        go();
      }
    }

    private void go() {
      int turn = turns.get();
      do {
        while (step()) {
          // Until nothing is wanted, or nothing is there.
        }
        turn = turns.addAndGet(-turn);
      } while (turn != 0);
    }

    /** Delivers one signal if there is one. One who throws has cancelled (rule 2.13). */
    private boolean step() {
      Flow.Subscriber<? super T> to = subscriber;
      try {
        return to != null && signal(to);
      } catch (Throwable e) {
        Journal.LOGGER.log(System.Logger.Level.ERROR, "a subscriber threw; it gets no more", e);
        cancel();
        return false;
      }
    }

    private boolean signal(Flow.Subscriber<? super T> to) {
      IllegalArgumentException wrong = bad;
      if (wrong != null) {
        cancel();
        to.onError(wrong);
        return false;
      }
      CompletableFuture<@Nullable T> coming = next;
      if (coming == null) {
        if (wanted.get() == 0) {
          return false;
        }
        try {
          coming = receiver.receiveAsync();
        } catch (RuntimeException e) { // another receives
          subscriber = null;
          to.onError(e);
          return false;
        }
        next = coming;
        if (!coming.isDone()) {
          coming.whenComplete((message, error) -> deliver());
          return false;
        }
      }
      if (!coming.isDone()) {
        return false;
      }
      next = null;
      T message;
      try {
        message = coming.join();
      } catch (RuntimeException e) {
        subscriber = null;
        to.onError(CallFuture.unwrapped(e));
        return false;
      }
      if (message == null) {
        subscriber = null;
        to.onComplete();
        return false;
      }
      if (wanted.get() != Long.MAX_VALUE) {
        wanted.decrementAndGet();
      }
      to.onNext(message);
      return true;
    }
  }
}
