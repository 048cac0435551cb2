package io.trunkcall;

import static io.trunkcall.Pair.await;
import static io.trunkcall.Pair.failure;
import static io.trunkcall.Texts.COUNT;
import static io.trunkcall.Texts.JOIN;
import static io.trunkcall.Texts.TALK;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Flow;
import java.util.concurrent.SubmissionPublisher;
import org.junit.jupiter.api.Test;

class StreamTest {
  private static Handler count() {
    return Handler.serverStream(
        COUNT,
        (request, responses, call) -> {
          for (int i = 0; i < Integer.parseInt(request); i++) {
            responses.send("" + i);
          }
        });
  }

  private static Handler join() {
    return Handler.clientStream(
        JOIN,
        (requests, call) -> {
          List<String> all = new ArrayList<>();
          requests.forEach(all::add);
          return String.join(",", all);
        });
  }

  private static Handler talk() {
    return Handler.bidiStream(
        TALK,
        (requests, responses, call) -> {
          for (String one : requests) {
            responses.send(one + "!");
          }
        });
  }

  @Test
  void responsesThatWereSentWithoutWaitingAllArrive() throws Exception {
    Handler serves =
        Handler.serverStream(
            COUNT,
            (request, responses, call) -> {
              for (int i = 0; i < Integer.parseInt(request); i++) {
                responses.sendAsync("x".repeat(1_000));
              }
            });
    try (Pair pair = new Pair(serves)) {
      List<String> all = new ArrayList<>();
      pair.client.open(COUNT, "3000").forEach(all::add);
      assertEquals(3_000, all.size());
    }
  }

  @Test
  void responsesAreIterated() throws Exception {
    try (Pair pair = new Pair(count())) {
      List<String> all = new ArrayList<>();
      pair.client.open(COUNT, "1000").forEach(all::add);
      assertEquals(1_000, all.size());
      assertEquals("999", all.get(999));
    }
  }

  @Test
  void whatAHandlerSentArrivesAlthoughItReturnedWhileThatWaited() throws Exception {
    String large = "x".repeat(100_000);
    CompletableFuture<Boolean> returned = new CompletableFuture<>();
    Handler handler =
        Handler.serverStream(
            COUNT,
            (request, responses, call) -> {
              for (int i = 0; i < 50; i++) {
                responses.sendAsync(large + i);
              }
              returned.complete(true);
            });
    try (Pair pair = new Pair(handler)) {
      ClientStream<String, String> stream = pair.client.open(COUNT, "50");
      assertTrue(await(returned));
      for (int i = 0; i < 50; i++) {
        assertTrue((large + i).equals(stream.receive()), "message " + i + " is another one");
      }
      assertNull(stream.receive());
      assertTrue(await(stream.status()).ok());
    }
  }

  @Test
  void aStreamWithoutMessagesEnds() throws Exception {
    try (Pair pair = new Pair(count())) {
      ClientStream<String, String> stream = pair.client.open(COUNT, "0");
      assertNull(stream.receive());
      assertTrue(await(stream.status()).ok());
    }
  }

  @Test
  void requestsAreAnsweredWithOne() throws Exception {
    try (Pair pair = new Pair(join())) {
      ClientStream<String, String> stream = pair.client.open(JOIN);
      assertTrue(stream.send("a"));
      assertTrue(stream.send("b"));
      assertEquals("a,b", stream.response());
    }
  }

  @Test
  void bothSidesTalk() throws Exception {
    try (Pair pair = new Pair(talk())) {
      ClientStream<String, String> stream = pair.client.open(TALK);
      for (int i = 0; i < 100; i++) {
        assertTrue(stream.send("" + i));
        assertEquals(i + "!", stream.receive());
      }
      stream.halfClose();
      assertNull(stream.receive());
      assertTrue(await(stream.status()).ok());
    }
  }

  @Test
  void largeMessagesTravelInBothDirections() throws Exception {
    String large = "x".repeat(1_000_000);
    try (Pair pair = new Pair(talk())) {
      ClientStream<String, String> stream = pair.client.open(TALK);
      for (int i = 0; i < 5; i++) {
        assertTrue(stream.send(large));
        assertEquals(large + "!", stream.receive());
      }
      stream.halfClose();
      assertNull(stream.receive());
    }
  }

  /** Their memory is used again: what one has left in it must not be seen in another. */
  @Test
  void largeMessagesOfManyLengthsAreThemselves() throws Exception {
    int count = 60;
    List<String> sent = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      sent.add(("" + (char) ('a' + i % 26)).repeat(130_000 + i % 7 * 20_000 + i));
    }
    try (Pair pair = new Pair(talk())) {
      ClientStream<String, String> stream = pair.client.open(TALK);
      Thread sender =
          new Thread(
              () -> {
                sent.forEach(stream::send);
                stream.halfClose();
              });
      sender.start();
      for (int i = 0; i < count; i++) {
        assertTrue((sent.get(i) + "!").equals(stream.receive()), "message " + i + " is another");
      }
      assertNull(stream.receive());
      sender.join();
    }
  }

  /**
   * How much is on the way until then depends on how fast each side is: windows, buffers, and what
   * the receiver's side lets in again after a second (limits.md 2).
   */
  @Test
  void aSenderWaitsForASlowReceiver() throws Exception {
    int most = 100_000; // a gigabyte, several times what may be on the way
    int more = 300;
    CompletableFuture<Integer> waits = new CompletableFuture<>(); // sent before it had to wait
    String kilobytes = "x".repeat(10_000);
    Handler serves =
        Handler.serverStream(
            COUNT,
            (request, responses, call) -> {
              int sent = 1;
              while (responses.sendAsync(kilobytes).isDone() && sent < most) {
                sent++;
              }
              waits.complete(sent);
              for (int i = 0; i < more; i++) {
                responses.send(kilobytes);
              }
            });
    try (Pair pair = new Pair(serves)) {
      ClientStream<String, String> stream = pair.client.open(COUNT, "");
      assertEquals(kilobytes, stream.receive());
      int before = await(waits);
      assertTrue(before < most, () -> "the sender is " + before + " messages ahead");
      int seen = 1;
      while (stream.receive() != null) {
        seen++;
      }
      assertEquals(before + more, seen);
    }
  }

  @Test
  void metadataComesAheadAndBehind() throws Exception {
    CompletableFuture<String> go = new CompletableFuture<>();
    Handler serves =
        Handler.serverStream(
            COUNT,
            (request, responses, call) -> {
              call.sendHeaders(Metadata.of("early", "1"));
              go.get();
              responses.send("one");
              call.setTrailers(Metadata.of("late", "2"));
            });
    try (Pair pair = new Pair(serves)) {
      ClientStream<String, String> stream = pair.client.open(COUNT, "");
      assertEquals("1", await(stream.headers()).get("early"));
      go.complete("");
      assertEquals("one", stream.receive());
      assertNull(stream.receive());
      assertEquals("2", stream.trailers().get("late"));
    }
  }

  @Test
  void aStreamThatFailsGivesItsMessagesAndThenTheStatus() throws Exception {
    Handler serves =
        Handler.serverStream(
            COUNT,
            (request, responses, call) -> {
              responses.send("one");
              throw new StatusException(Code.ABORTED, "enough");
            });
    try (Pair pair = new Pair(serves)) {
      ClientStream<String, String> stream = pair.client.open(COUNT, "");
      assertEquals("one", stream.receive());
      StatusException failed = failure(stream::receive);
      assertEquals(Code.ABORTED, failed.code());
      assertEquals(Delivery.EXECUTED, failed.status().delivery());
      assertEquals(Code.ABORTED, await(stream.status()).code());
    }
  }

  @Test
  void toCloseAStreamCancelsIt() throws Exception {
    CompletableFuture<String> ended = new CompletableFuture<>();
    Handler serves =
        Handler.bidiStream(
            TALK,
            (requests, responses, call) -> {
              call.onCancel(() -> ended.complete("cancelled"));
              responses.send("one");
              new CountDownLatch(1).await();
            });
    try (Pair pair = new Pair(serves)) {
      try (ClientStream<String, String> stream = pair.client.open(TALK)) {
        assertEquals("one", stream.receive());
      }
      assertEquals("cancelled", await(ended));
    }
  }

  @Test
  void aSenderIsToldThatTheCallIsOver() throws Exception {
    Handler serves =
        Handler.bidiStream(
            TALK,
            (requests, responses, call) -> {
              throw new StatusException(Code.ABORTED, "no");
            });
    try (Pair pair = new Pair(serves)) {
      ClientStream<String, String> stream = pair.client.open(TALK);
      assertEquals(Code.ABORTED, await(stream.status()).code());
      assertFalse(await(stream.sendAsync("a")) && await(stream.sendAsync("b")));
    }
  }

  @Test
  void whatCannotBeOpenedIsToldByTheStream() {
    try (Client client = Client.of("127.0.0.1:1")) {
      ClientStream<String, String> stream = client.open(TALK);
      StatusException failed = failure(stream::receive);
      assertEquals(Code.UNAVAILABLE, failed.code());
      assertEquals(Delivery.NOT_SENT, failed.status().delivery());
      assertEquals(Code.UNAVAILABLE, await(stream.status()).code());
    }
  }

  @Test
  void responsesArePublished() throws Exception {
    try (Pair pair = new Pair(count())) {
      Collecting collecting = new Collecting(Long.MAX_VALUE);
      pair.client.publish(COUNT, "500", CallOptions.NONE).subscribe(collecting);
      List<String> all = await(collecting.done);
      assertEquals(500, all.size());
      assertEquals("499", all.get(499));
    }
  }

  @Test
  void aSubscriberThatCancelsCancelsTheCall() throws Exception {
    CompletableFuture<String> ended = new CompletableFuture<>();
    Handler serves =
        Handler.serverStream(
            COUNT,
            (request, responses, call) -> {
              call.onCancel(() -> ended.complete("cancelled"));
              while (responses.send("more")) {
                // Until the call is over.
              }
            });
    try (Pair pair = new Pair(serves)) {
      Collecting collecting = new Collecting(3);
      pair.client.publish(COUNT, "", CallOptions.NONE).subscribe(collecting);
      assertEquals("cancelled", await(ended));
    }
  }

  @Test
  void publishersServe() throws Exception {
    Handler serves =
        Handler.bidiPublisher(
            TALK,
            (requests, call) ->
                responses ->
                    requests.subscribe(
                        new Flow.Subscriber<>() {
                          @Override
                          public void onSubscribe(Flow.Subscription subscription) {
                            responses.onSubscribe(subscription);
                          }

                          @Override
                          public void onNext(String item) {
                            responses.onNext(item + "!");
                          }

                          @Override
                          public void onError(Throwable error) {
                            responses.onError(error);
                          }

                          @Override
                          public void onComplete() {
                            responses.onComplete();
                          }
                        }));
    try (Pair pair = new Pair(serves);
        SubmissionPublisher<String> requests = new SubmissionPublisher<>()) {
      ClientStream<String, String> stream = pair.client.open(TALK);
      CompletableFuture<Void> sent = stream.sendAll(requests);
      requests.submit("a");
      requests.submit("b");
      requests.close();
      assertEquals("a!", stream.receive());
      assertEquals("b!", stream.receive());
      assertNull(stream.receive());
      await(sent.thenApply(done -> true));
    }
  }

  /** Asks for so many messages, then cancels; else collects them all. */
  private static final class Collecting implements Flow.Subscriber<String> {
    final CompletableFuture<List<String>> done = new CompletableFuture<>();
    private final List<String> all = new ArrayList<>();
    private final long most;
    private Flow.Subscription subscription;

    Collecting(long most) {
      this.most = most;
    }

    @Override
    public void onSubscribe(Flow.Subscription given) {
      subscription = given;
      given.request(most);
    }

    @Override
    public void onNext(String message) {
      all.add(message);
      if (all.size() == most) {
        subscription.cancel();
      }
    }

    @Override
    public void onError(Throwable error) {
      done.completeExceptionally(error);
    }

    @Override
    public void onComplete() {
      done.complete(all);
    }
  }
}
