package io.trunkcall;

import static io.trunkcall.Pair.await;
import static io.trunkcall.Pair.failure;
import static io.trunkcall.Texts.COUNT;
import static io.trunkcall.Texts.OTHER;
import static io.trunkcall.Texts.SAY;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.Flow;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
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
    Throwable[] failures = {
      new IllegalStateException("of the test"),
      new RejectedExecutionException("of the test"),
      new OutOfMemoryError("unable to create native thread"),
      new RejectedExecutionException(new OutOfMemoryError("unable to create native thread"))
    };
    Code[] told = {
      Code.UNAVAILABLE, Code.UNAVAILABLE, Code.RESOURCE_EXHAUSTED, Code.RESOURCE_EXHAUSTED
    };
    AtomicReference<Throwable> fails = new AtomicReference<>();
    Executor executor =
        task -> {
          Throwable failure = fails.getAndSet(null);
          if (failure instanceof Error error) {
            throw error;
          } else if (failure instanceof RuntimeException exception) {
            throw exception;
          }
          task.run();
        };
    try (Pair pair = new Pair(s -> s.serve(ECHO).executor(executor), c -> c.repeat(false))) {
      Connection before = connected(pair);
      for (int i = 0; i < failures.length; i++) {
        fails.set(failures[i]);
        StatusException failed = failure(() -> pair.client.call(OTHER, "Ada"));
        assertEquals(told[i], failed.code());
        assertEquals(Delivery.REFUSED, failed.status().delivery());
        assertGoesOn(pair, before);
      }
      assertTrue(pair.server.stop(Pair.PATIENCE));
    }
  }

  /** Is given to no balancer, and cannot be spelled either. */
  private static final class Stranger implements EndpointState {
    @Override
    public Endpoint endpoint() {
      return Endpoint.of("127.0.0.1:1");
    }

    @Override
    public State state() {
      return State.READY;
    }

    @Override
    public int calls() {
      return 0;
    }

    @Override
    public long latencyNanos() {
      return -1;
    }

    @Override
    public int failures() {
      return 0;
    }

    @Override
    public String toString() {
      throw new AssertionError("of the test");
    }
  }

  @Test
  void aCallThatCannotBeOpenedForWhatUsersCodeThrowsEndsAlone() throws Exception {
    AtomicBoolean wrong = new AtomicBoolean();
    /** Is asked for each call, also where there is a single endpoint. */
    final class Own implements PickObserver {
      private final List<EndpointState> endpoints;

      Own(List<EndpointState> endpoints) {
        this.endpoints = endpoints;
      }

      @Override
      public EndpointState pick(Pick call) {
        return wrong.getAndSet(false) ? new Stranger() : endpoints.get(0);
      }

      @Override
      public void ended(EndpointState endpoint, Outcome outcome) {}
    }
    Balancer balancer = Own::new;
    try (Pair pair = new Pair(s -> s.serve(ECHO), c -> c.balancer(balancer))) {
      Connection before = connected(pair);
      wrong.set(true);
      StatusException failed = failure(() -> await(pair.client.callAsync(OTHER, "Ada")));
      assertEquals(Code.INTERNAL, failed.code());
      assertEquals(Delivery.NOT_SENT, failed.status().delivery());
      assertGoesOn(pair, before);
    }
  }

  @Test
  void aCallThatWaitsEndsAloneForWhatUsersCodeThrows() throws Exception {
    AtomicBoolean none = new AtomicBoolean(true);
    AtomicInteger wrong = new AtomicInteger();
    AtomicReference<Watch> registry = new AtomicReference<>();
    Balancer balancer =
        endpoints ->
            call -> {
              if (none.get()) {
                return null;
              }
              return wrong.getAndDecrement() > 0 ? new Stranger() : endpoints.get(0);
            };
    CallOptions waits = CallOptions.NONE.withWaitForReady(true);
    try (Pair pair = new Pair(ECHO);
        Client client =
            Client.builder("test:it").resolver("test", registry::set).balancer(balancer).build()) {
      CompletableFuture<String> first = client.callAsync(OTHER, "Ada", waits);
      CompletableFuture<String> second = client.callAsync(OTHER, "Bob", waits);
      Pair.until(() -> registry.get() != null, "the resolver was not called");
      await(client.gauges()); // both have looked, and wait
      none.set(false);
      wrong.set(1);
      registry.get().set(List.of(Endpoint.of("127.0.0.1:" + pair.server.port())));
      assertEquals(Code.INTERNAL, failure(() -> await(first)).code());
      assertEquals("Bob", await(second));
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
