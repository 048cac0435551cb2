package io.trunkcall;

import static io.trunkcall.Pair.await;
import static io.trunkcall.Pair.failure;
import static io.trunkcall.Texts.COUNT;
import static io.trunkcall.Texts.OTHER;
import static io.trunkcall.Texts.SAY;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.Flow;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Whatever the code of users throws, Errors included, one call ends, and the others go on. */
@Timeout(90)
class OneBadCallTest {
  /** A codec that fails as one does that is given what is nested too deeply. */
  private static final Codec<String> FAILING =
      new Codec<>() {
        @Override
        public int number() {
          return 0;
        }

        @Override
        public String name() {
          return "failing";
        }

        @Override
        public void encode(String message, Output out) {
          throw new StackOverflowError("of the test");
        }

        @Override
        public String decode(byte[] array, int offset, int length) {
          throw new StackOverflowError("of the test");
        }
      };

  private static final Handler ECHO = Handler.unary(OTHER, (request, call) -> request);

  /** That another call passes over the connection that there was. */
  private static void assertGoesOn(Pair pair, Connection before) {
    assertEquals("Bob", pair.client.call(OTHER, "Bob"));
    assertSame(before, pair.client.connections().get(0));
  }

  private static Connection connected(Pair pair) {
    await(pair.client.connect());
    return pair.client.connections().get(0);
  }

  @Test
  void aStageThatCannotBeCancelledMayBeReturned() throws Exception {
    CompletableFuture<String> began = new CompletableFuture<>();
    CompletableFuture<String> answer = new CompletableFuture<>();
    CompletableFuture<String> told = new CompletableFuture<>();
    Handler serves =
        Handler.unaryAsync(
            SAY,
            (request, call) -> {
              call.onCancel(
                  () -> {
                    throw new AssertionError("of the test");
                  });
              call.onCancel(() -> told.complete("cancelled"));
              began.complete(request);
              return answer.minimalCompletionStage();
            });
    try (Pair pair = new Pair(serves, ECHO)) {
      Connection before = connected(pair);
      CompletableFuture<String> said = pair.client.callAsync(SAY, "Ada");
      await(began);
      said.cancel(true);
      assertEquals("cancelled", await(told));
      assertGoesOn(pair, before);
      answer.complete("late");
    }
  }

  @Test
  void anAnswerThatCannotBeDecodedEndsItsCall() throws Exception {
    Method<String, String> method = Method.unary(SAY.name(), Texts.CODEC, FAILING);
    try (Pair pair = new Pair(Handler.unary(SAY, (request, call) -> request), ECHO)) {
      Connection before = connected(pair);
      StatusException failed = failure(() -> await(pair.client.callAsync(method, "Ada")));
      assertEquals(Code.INTERNAL, failed.code());
      assertEquals(Delivery.EXECUTED, failed.status().delivery());
      assertGoesOn(pair, before);
    }
  }

  @Test
  void anAnswerThatCannotBeEncodedLaterEndsItsCall() throws Exception {
    Method<String, String> method = Method.unary(SAY.name(), Texts.CODEC, FAILING);
    CompletableFuture<String> began = new CompletableFuture<>();
    CompletableFuture<String> answer = new CompletableFuture<>();
    Handler serves =
        Handler.unaryAsync(
            method,
            (request, call) -> {
              began.complete(request);
              return answer;
            });
    try (Pair pair = new Pair(serves, ECHO)) {
      Connection before = connected(pair);
      CompletableFuture<String> said = pair.client.callAsync(SAY, "Ada");
      await(began);
      answer.complete("later");
      StatusException failed = failure(() -> await(said));
      assertEquals(Code.INTERNAL, failed.code());
      assertEquals(Delivery.EXECUTED, failed.status().delivery());
      assertGoesOn(pair, before);
    }
  }

  @Test
  void aRequestThatCannotBeDecodedHasNotRun() throws Exception {
    Method<String, String> method = Method.unary(SAY.name(), FAILING, Texts.CODEC);
    try (Pair pair = new Pair(Handler.unary(method, (request, call) -> request), ECHO)) {
      Connection before = connected(pair);
      StatusException failed = failure(() -> pair.client.call(SAY, "Ada"));
      assertEquals(Code.INTERNAL, failed.code());
      assertEquals(Delivery.REFUSED, failed.status().delivery());
      assertGoesOn(pair, before);
    }
  }

  @Test
  void aMessageOfAStreamThatCannotBeDecodedEndsItsCall() throws Exception {
    Method<String, String> method = Method.serverStream(COUNT.name(), Texts.CODEC, FAILING);
    Handler serves =
        Handler.serverStream(COUNT, (request, responses, call) -> responses.send(request));
    try (Pair pair = new Pair(serves, ECHO)) {
      Connection before = connected(pair);
      try (ClientStream<String, String> stream = pair.client.open(method, "Ada")) {
        StatusException failed = failure(() -> await(stream.receiveAsync()));
        assertEquals(Code.INTERNAL, failed.code());
      }
      assertGoesOn(pair, before);
    }
  }

  @Test
  void headersThatAreNotValidEndAStreamWithAnError() throws Exception {
    Handler serves =
        Handler.serverStream(
            COUNT,
            (request, responses, call) -> {
              call.setHeaders(Metadata.builder().add("Not Valid", "x").build());
              responses.send(request);
            });
    try (Pair pair = new Pair(serves, ECHO)) {
      Connection before = connected(pair);
      try (ClientStream<String, String> stream = pair.client.open(COUNT, "Ada")) {
        assertEquals(Code.INTERNAL, failure(stream::receive).code());
      }
      assertGoesOn(pair, before);
    }
  }

  @Test
  void observersThatThrowKeepNoCallFromEnding() throws Exception {
    AttemptObserver attempts =
        new AttemptObserver() {
          @Override
          public void attemptBegan(CallAttempt attempt) {
            throw new AssertionError("of the test");
          }

          @Override
          public void attemptEnded(CallAttempt attempt) {
            throw new AssertionError("of the test");
          }
        };
    Observer connections =
        new Observer() {
          @Override
          public void connected(Connection connection) {
            throw new AssertionError("of the test");
          }

          @Override
          public void disconnected(Connection connection, String why) {
            throw new AssertionError("of the test");
          }
        };
    try (Pair pair =
        new Pair(
            s -> s.serve(ECHO).observer(connections),
            c -> c.observer(connections).attemptObserver(attempts))) {
      assertGoesOn(pair, connected(pair));
      assertTrue(pair.server.stop(Pair.PATIENCE));
    }
  }

  @Test
  void aPublisherThatRestsHearsThatItsCallIsOver() throws Exception {
    CompletableFuture<String> began = new CompletableFuture<>();
    CompletableFuture<String> cancelled = new CompletableFuture<>();
    Flow.Publisher<String> rests =
        subscriber ->
            subscriber.onSubscribe(
                new Flow.Subscription() {
                  @Override
                  public void request(long n) {
                    began.complete("");
                  }

                  @Override
                  public void cancel() {
                    cancelled.complete("cancelled");
                  }
                });
    try (Pair pair = new Pair(Handler.serverPublisher(COUNT, (request, call) -> rests), ECHO)) {
      Connection before = connected(pair);
      try (ClientStream<String, String> stream = pair.client.open(COUNT, "Ada")) {
        await(began);
        stream.cancel();
        assertEquals("cancelled", await(cancelled));
      }
      assertGoesOn(pair, before);
    }
  }

  @Test
  void aCallWhoseExecutorFailsIsRefused() throws Exception {
    AtomicBoolean fails = new AtomicBoolean(true);
    Executor executor =
        task -> {
          if (fails.getAndSet(false)) {
            throw new OutOfMemoryError("unable to create native thread");
          }
          task.run();
        };
    try (Pair pair = new Pair(s -> s.serve(ECHO).executor(executor), c -> {})) {
      Connection before = connected(pair);
      StatusException failed = failure(() -> pair.client.call(OTHER, "Ada"));
      assertEquals(Code.UNAVAILABLE, failed.code());
      assertEquals(Delivery.REFUSED, failed.status().delivery());
      assertGoesOn(pair, before);
      assertTrue(pair.server.stop(Pair.PATIENCE));
    }
  }

  private static Serving serving() {
    ServerBuilder builder = Server.builder().executor(Runnable::run);
    return builder.serving("server", null, builder.calling().packing);
  }

  @Test
  void allWhoWaitForTheEndOfHandlersAreTold() {
    Serving serving = serving();
    serving.began();
    CompletableFuture<?> one = serving.idle();
    CompletableFuture<?> two = serving.idle();
    CompletableFuture<?> gaveUp = serving.idle();
    gaveUp.cancel(true);
    serving.returned();
    assertTrue(one.isDone());
    assertTrue(two.isDone());
    assertTrue(serving.idle().isDone());
  }
}
