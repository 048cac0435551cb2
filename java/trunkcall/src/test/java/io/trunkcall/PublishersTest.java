package io.trunkcall;

import static io.trunkcall.Pair.await;
import static io.trunkcall.Texts.JOIN;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Flow;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Publishers and subscribers of the user's that rest, throw or are used wrongly. */
@Timeout(90)
class PublishersTest {
  private final CompletableFuture<String> cancelled = new CompletableFuture<>();

  /** Publishes nothing, and tells when it is cancelled. */
  private final class Rests implements Flow.Publisher<String> {
    final CompletableFuture<Flow.Subscriber<? super String>> subscribed = new CompletableFuture<>();

    @Override
    public void subscribe(Flow.Subscriber<? super String> subscriber) {
      subscriber.onSubscribe(
          new Flow.Subscription() {
            @Override
            public void request(long n) {}

            @Override
            public void cancel() {
              cancelled.complete("cancelled");
            }
          });
      subscribed.complete(subscriber);
    }
  }

  @Test
  void aRestingPublisherOfRequestsHearsThatTheirCallIsOver() throws Exception {
    Handler serves = Handler.clientStream(JOIN, (requests, call) -> "enough");
    try (Pair pair = new Pair(serves)) {
      Rests rests = new Rests();
      try (ClientStream<String, String> stream = pair.client.open(JOIN)) {
        CompletableFuture<Void> sent = stream.sendAll(rests);
        assertEquals("cancelled", await(cancelled));
        await(sent.thenApply(none -> true));
        rests.subscribed.join().onNext("late"); // which was on its way
        assertEquals("enough", stream.receive());
      }
    }
  }

  @Test
  void aPublisherOfRequestsWhoseCallIsOverAlreadyIsCancelled() throws Exception {
    try (Client client = Client.of("127.0.0.1:1")) {
      client.close();
      CompletableFuture<Void> sent = client.open(JOIN).sendAll(new Rests());
      assertEquals("cancelled", await(cancelled));
      await(sent.thenApply(none -> true));
    }
  }

  @Test
  void anErrorOfAPublisherOfRequestsIsWhatItsFutureFailsWith() throws Exception {
    Handler serves = Handler.clientStream(JOIN, (requests, call) -> requests.receive());
    try (Pair pair = new Pair(serves)) {
      Rests rests = new Rests();
      try (ClientStream<String, String> stream = pair.client.open(JOIN)) {
        CompletableFuture<Void> sent = stream.sendAll(rests);
        IllegalStateException own = new IllegalStateException("of the test");
        rests.subscribed.join().onError(own);
        assertSame(own, assertThrows(IllegalStateException.class, () -> await(sent)));
        assertEquals(Code.CANCELLED, await(stream.status()).code());
        assertTrue(!cancelled.isDone(), "it has ended by itself");
      }
    }
  }

  /** Messages without a call. */
  private static Receiver<String> receiver(Supplier<CompletableFuture<String>> next) {
    return next::get;
  }

  /** Throws at a signal. */
  private static class Subscriber implements Flow.Subscriber<String> {
    final List<String> signals = new ArrayList<>();
    final CompletableFuture<Throwable> failed = new CompletableFuture<>();
    final String throwsAt;
    Flow.Subscription subscription;

    Subscriber(String throwsAt) {
      this.throwsAt = throwsAt;
    }

    private void signal(String what) {
      signals.add(what);
      if (what.equals(throwsAt)) {
        throw new AssertionError("of the test");
      }
    }

    @Override
    public void onSubscribe(Flow.Subscription given) {
      subscription = given;
      signal("onSubscribe");
    }

    @Override
    public void onNext(String message) {
      signal(message);
    }

    @Override
    public void onError(Throwable error) {
      signal("onError");
      failed.complete(error);
    }

    @Override
    public void onComplete() {
      signal("onComplete");
    }
  }

  private ReceiverPublisher<String> publisher(Receiver<String> messages) {
    return new ReceiverPublisher<>(messages, () -> cancelled.complete("cancelled"));
  }

  private static Receiver<String> always(String message) {
    return receiver(() -> CompletableFuture.completedFuture(message));
  }

  @Test
  void aSubscriberThatThrowsHasCancelled() {
    Subscriber throwing = new Subscriber("a");
    publisher(always("a")).subscribe(throwing);
    throwing.subscription.request(10);
    assertEquals(List.of("onSubscribe", "a"), throwing.signals);
    assertEquals("cancelled", cancelled.getNow("not cancelled"));
    throwing.subscription.request(10);
    assertEquals(List.of("onSubscribe", "a"), throwing.signals);
  }

  @Test
  void aSubscriberThatThrowsWhenItIsGivenItsSubscriptionHasCancelled() {
    Subscriber throwing = new Subscriber("onSubscribe");
    ReceiverPublisher<String> publisher = publisher(always("a"));
    assertThrows(AssertionError.class, () -> publisher.subscribe(throwing));
    assertEquals("cancelled", cancelled.getNow("not cancelled"));
    throwing.subscription.request(10);
    assertEquals(List.of("onSubscribe"), throwing.signals);
  }

  @Test
  void aSubscriberThatThrowsAtTheEndHarmsNobody() {
    Subscriber throwing = new Subscriber("onComplete");
    publisher(always(null)).subscribe(throwing);
    throwing.subscription.request(1);
    assertEquals(List.of("onSubscribe", "onComplete"), throwing.signals);
  }

  @Test
  void aSubscriberIsToldThatAnotherReceives() throws Exception {
    Subscriber told = new Subscriber("");
    publisher(
            receiver(
                () -> {
                  throw new IllegalStateException("another receives");
                }))
        .subscribe(told);
    told.subscription.request(1);
    assertEquals("another receives", told.failed.getNow(null).getMessage());
    assertNull(cancelled.getNow(null));
  }
}
