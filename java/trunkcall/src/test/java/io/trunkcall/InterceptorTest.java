package io.trunkcall;

import static io.trunkcall.Pair.await;
import static io.trunkcall.Pair.failure;
import static io.trunkcall.Texts.COUNT;
import static io.trunkcall.Texts.SAY;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class InterceptorTest {
  private static final Handler WHO =
      Handler.unary(SAY, (request, call) -> request + call.metadata().get("who"));

  @Test
  void aClientsInterceptorsWrapCallsInOrder() throws Exception {
    List<String> order = Collections.synchronizedList(new ArrayList<>());
    ClientInterceptor outer =
        (call, next) -> {
          order.add("outer");
          return next.proceed(call);
        };
    ClientInterceptor inner =
        (call, next) -> {
          order.add("inner");
          return next.proceed(call.withMetadata(Metadata.of("who", "Ada")));
        };
    try (Pair pair =
        new Pair(s -> s.serve(WHO), c -> c.clientInterceptor(outer).clientInterceptor(inner))) {
      assertEquals("hello Ada", pair.client.call(SAY, "hello "));
      assertEquals(List.of("outer", "inner"), order);
    }
  }

  @Test
  void whatAnInterceptorAnswersWithoutGoingOnWasNotSent() throws Exception {
    ClientInterceptor caches = (call, next) -> CompletableFuture.completedFuture("cached");
    try (Pair pair = new Pair(s -> s.serve(WHO), c -> c.clientInterceptor(caches))) {
      assertEquals("cached", pair.client.call(SAY, "hello "));
    }
    ClientInterceptor rejects =
        (call, next) -> {
          throw new StatusException(
              Status.of(Code.PERMISSION_DENIED, "no").withDelivery(Delivery.EXECUTED));
        };
    try (Pair pair = new Pair(s -> s.serve(WHO), c -> c.clientInterceptor(rejects))) {
      StatusException failed = failure(() -> pair.client.call(SAY, "hello "));
      assertEquals(Code.PERMISSION_DENIED, failed.code());
      assertEquals(Delivery.NOT_SENT, failed.status().delivery());
      assertTrue(failed.status().local());
    }
  }

  @Test
  void aClientsInterceptorMayCallAgain() throws Exception {
    AtomicInteger served = new AtomicInteger();
    Handler fails =
        Handler.unary(
            SAY,
            (request, call) -> {
              if (served.incrementAndGet() == 1) {
                throw new StatusException(Code.ABORTED, "again");
              }
              return request;
            });
    ClientInterceptor retries =
        (call, next) ->
            next.proceed(call)
                .handle(
                    (answer, error) ->
                        error == null
                            ? CompletableFuture.<Object>completedFuture(answer)
                            : next.proceed(call).toCompletableFuture().thenApply(x -> (Object) x))
                .thenCompose(stage -> stage);
    try (Pair pair = new Pair(s -> s.serve(fails), c -> c.clientInterceptor(retries))) {
      assertEquals("Ada", pair.client.call(SAY, "Ada"));
      assertEquals(2, served.get());
    }
  }

  @Test
  void aServersInterceptorsWrapCallsOfAllKinds() throws Exception {
    List<String> ends = Collections.synchronizedList(new ArrayList<>());
    ServerInterceptor counts =
        (call, next) -> {
          call.onEnd(status -> ends.add(call.method().name() + " " + status.code()));
          return next.proceed(call);
        };
    Handler streams =
        Handler.serverStream(
            COUNT,
            (request, responses, call) -> {
              responses.send("one");
            });
    try (Pair pair = new Pair(s -> s.serve(WHO, streams).serverInterceptor(counts), c -> {})) {
      assertEquals("hello null", pair.client.call(SAY, "hello "));
      pair.client.open(COUNT, "").forEach(one -> assertEquals("one", one));
      Pair.until(() -> ends.size() == 2, "the ends were not told");
      assertEquals(List.of("/test.Texts/Say OK", "/test.Texts/Count OK"), ends);
    }
  }

  @Test
  void whoWatchesTheEndAtTheServerIsToldWhetherTheHandlerRan() throws Exception {
    List<String> ends = Collections.synchronizedList(new ArrayList<>());
    ServerInterceptor watches =
        (call, next) -> {
          call.onEnd(status -> ends.add(status.code() + " " + status.delivery().word()));
          return next.proceed(call);
        };
    ServerInterceptor rejects =
        (call, next) -> {
          if (call.request().equals("nobody")) {
            throw new StatusException(Code.UNAUTHENTICATED, "who are you");
          }
          return next.proceed(call);
        };
    Handler fails =
        Handler.unary(
            SAY,
            (text, call) -> {
              Status elsewhere = Status.of(Code.NOT_FOUND, "").withDelivery(Delivery.NOT_SENT);
              throw new StatusException(elsewhere);
            });
    try (Pair pair =
        new Pair(
            s -> s.serve(fails).serverInterceptor(watches).serverInterceptor(rejects), c -> {})) {
      failure(() -> pair.client.call(SAY, "somebody"));
      failure(() -> pair.client.call(SAY, "nobody"));
      Pair.until(() -> ends.size() == 2, "the ends were not told");
      assertEquals(List.of("NOT_FOUND executed", "UNAUTHENTICATED refused"), ends);
    }
  }

  @Test
  void aServersInterceptorRefusesWithoutGoingOn() throws Exception {
    ServerInterceptor rejects =
        (call, next) -> {
          throw new StatusException(Code.UNAUTHENTICATED, "who are you");
        };
    try (Pair pair = new Pair(s -> s.serve(WHO).serverInterceptor(rejects), c -> {})) {
      StatusException failed = failure(() -> pair.client.call(SAY, "hello "));
      assertEquals(Code.UNAUTHENTICATED, failed.code());
      assertEquals(Delivery.REFUSED, failed.status().delivery());
    }
  }

  @Test
  void whatTheHandlerAnsweredWasExecutedWhateverInterceptorsMakeOfIt() throws Exception {
    ServerInterceptor replaces =
        (call, next) ->
            next.proceed(call)
                .thenApply(
                    answer -> {
                      throw new StatusException(Code.ABORTED, "afterwards");
                    });
    try (Pair pair = new Pair(s -> s.serve(WHO).serverInterceptor(replaces), c -> {})) {
      StatusException failed = failure(() -> pair.client.call(SAY, "hello "));
      assertEquals(Code.ABORTED, failed.code());
      assertEquals(Delivery.EXECUTED, failed.status().delivery());
    }
  }

  @Test
  void admissionRefusesBeforeTheHandler() throws Exception {
    Admission nobody =
        arrival -> {
          throw new StatusException(Code.PERMISSION_DENIED, "not " + arrival.peer());
        };
    try (Pair pair = new Pair(s -> s.serve(WHO).admission(nobody), c -> {})) {
      StatusException failed = failure(() -> pair.client.call(SAY, "hello "));
      assertEquals(Code.PERMISSION_DENIED, failed.code());
      assertEquals(Delivery.REFUSED, failed.status().delivery());
    }
  }

  @Test
  void whatAdmissionLentIsReleasedOnce() throws Exception {
    AtomicInteger released = new AtomicInteger();
    Admission lends = arrival -> new Admitted("Ada", released::incrementAndGet);
    try (Pair pair = new Pair(s -> s.serve(WHO).admission(lends), c -> {})) {
      pair.client.call(SAY, "hello ");
      Pair.until(() -> released.get() == 1, "it was not released");
    }
  }

  @Test
  void observersAreToldOfConnectionsAndAttempts() throws Exception {
    List<String> told = Collections.synchronizedList(new ArrayList<>());
    List<String> attempted = Collections.synchronizedList(new ArrayList<>());
    Observer observer =
        new Observer() {
          @Override
          public void connected(Connection connection) {
            told.add("connected");
          }

          @Override
          public void disconnected(Connection connection, String why) {
            told.add("disconnected");
          }
        };
    AttemptObserver attempts =
        new AttemptObserver() {
          @Override
          public void attemptBegan(CallAttempt attempt) {
            attempted.add("began " + attempt.number());
          }

          @Override
          public void attemptEnded(CallAttempt attempt) {
            attempted.add("ended " + attempt.status().code() + " " + attempt.sent());
          }
        };
    try (Pair pair =
        new Pair(s -> s.serve(WHO), c -> c.observer(observer).attemptObserver(attempts))) {
      await(pair.client.connect());
      pair.client.call(SAY, "hello ");
    }
    Pair.until(() -> told.size() == 2 && attempted.size() == 2, "not all was told");
    assertEquals(List.of("connected", "disconnected"), told);
    assertEquals(List.of("began 1", "ended OK 6"), attempted);
  }

  @Test
  void anInterceptorThatReturnsNoStageIsNamed() throws Exception {
    ClientInterceptor calls = (call, next) -> null;
    try (Pair pair = new Pair(s -> s.serve(WHO), c -> c.clientInterceptor(calls))) {
      StatusException failed = failure(() -> await(pair.client.callAsync(SAY, "hello ")));
      assertEquals(Code.INTERNAL, failed.code());
      assertEquals(Delivery.NOT_SENT, failed.status().delivery());
      String text = failed.status().message();
      assertTrue(text.contains(calls.getClass().getName() + " returned null"), text);
    }
    ServerInterceptor serves = (call, next) -> null;
    ServerInterceptor plain = (call, next) -> next.proceed(call);
    for (boolean first : new boolean[] {true, false}) {
      try (Pair pair =
          new Pair(
              s ->
                  s.serve(WHO)
                      .serverInterceptor(first ? serves : plain)
                      .serverInterceptor(first ? plain : serves),
              c -> {})) {
        StatusException failed = failure(() -> pair.client.call(SAY, "hello "));
        assertEquals(Code.INTERNAL, failed.code());
        assertEquals(Delivery.REFUSED, failed.status().delivery());
      }
    }
  }

  @Test
  void aStreamWhoseInterceptorsNeverGoOnCanBeCancelled() throws Exception {
    ClientInterceptor waits = (call, next) -> new CompletableFuture<>();
    Handler count = Handler.serverStream(COUNT, (request, responses, call) -> {});
    try (Pair pair = new Pair(s -> s.serve(count), c -> c.clientInterceptor(waits))) {
      ClientStream<String, String> stream = pair.client.open(COUNT, "Ada");
      CompletableFuture<String> received = stream.receiveAsync();
      stream.cancel();
      assertEquals(Code.CANCELLED, failure(() -> await(received)).code());
      assertEquals(Code.CANCELLED, await(stream.status()).code());
    }
  }

  @Test
  void messagesThatHaveComeStayWhereAnotherAttemptIsEnded() throws Exception {
    Handler counts =
        Handler.serverStream(
            COUNT,
            (request, responses, call) -> {
              responses.send("1");
              responses.send("2");
            });
    ClientInterceptor again =
        (call, next) -> next.proceed(call).thenCompose(first -> next.proceed(call));
    try (Pair pair = new Pair(s -> s.serve(counts), c -> c.clientInterceptor(again))) {
      ClientStream<String, String> stream = pair.client.stream(COUNT, "2", CallOptions.NONE);
      assertEquals(Status.OK, await(stream.status()));
      await(pair.client.endpoints()); // behind what the end has the loop do
      assertEquals("1", stream.receive());
      assertEquals("2", stream.receive());
      assertNull(stream.receive());
    }
  }

  /** An interceptor that goes on late, or again, has what is left of the call's time. */
  @Test
  void theTimeOfACallIsNotBegunAnewByInterceptors() throws Exception {
    List<Duration> left = new CopyOnWriteArrayList<>();
    Handler asks =
        Handler.unary(
            Texts.SAY,
            (request, call) -> {
              left.add(Objects.requireNonNull(call.timeRemaining()));
              return request;
            });
    Handler asked =
        Handler.bidiStream(
            Texts.TALK,
            (requests, responses, call) -> left.add(Objects.requireNonNull(call.timeRemaining())));
    ClientInterceptor late =
        (call, next) ->
            CompletableFuture.supplyAsync(
                    () -> call, CompletableFuture.delayedExecutor(100, TimeUnit.MILLISECONDS))
                .thenCompose(next::proceed);
    CallOptions minute = CallOptions.NONE.withTimeout(Duration.ofMinutes(1));
    try (Pair pair = new Pair(s -> s.serve(asks, asked), c -> c.clientInterceptor(late))) {
      Pair.await(pair.client.unary(Texts.SAY, "x", minute));
      ClientStream<String, String> stream = pair.client.stream(Texts.TALK, null, minute);
      assertNull(stream.receive());
    }
    Duration most = Duration.ofMillis(59_900);
    assertTrue(left.stream().allMatch(one -> one.compareTo(most) <= 0), left::toString);
    assertEquals(2, left.size());
  }
}
