package io.trunkcall;

import static io.trunkcall.Pair.await;
import static io.trunkcall.Pair.failure;
import static io.trunkcall.Pair.until;
import static io.trunkcall.Texts.NOTE;
import static io.trunkcall.Texts.OTHER;
import static io.trunkcall.Texts.SAY;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** Deadlines, cancellation, draining, and what is known of calls that ended so. */
class EndingTest {
  private static final CallOptions SHORT = CallOptions.NONE.withTimeout(Duration.ofMillis(50));
  private static final CallOptions LONG = CallOptions.NONE.withTimeout(Duration.ofMinutes(10));

  @Test
  void aCallEndsAtItsDeadlineAndItsHandlerIsInterrupted() throws Exception {
    CompletableFuture<String> began = new CompletableFuture<>();
    CompletableFuture<String> ended = new CompletableFuture<>();
    Handler serves =
        Handler.unary(
            SAY,
            (request, call) -> {
              began.complete(request);
              try {
                new CountDownLatch(1).await();
              } catch (InterruptedException e) {
                ended.complete(call.cancelled() ? "cancelled" : "not cancelled");
                throw e;
              }
              return request;
            });
    try (Pair pair = new Pair(serves)) {
      await(pair.client.connect());
      // On a busy machine the first deadlines may pass before the handler begins.
      Duration timeout = Duration.ofMillis(50);
      while (true) {
        CallOptions options = CallOptions.NONE.withTimeout(timeout);
        String name = timeout.toString();
        StatusException failed = failure(() -> pair.client.call(SAY, name, options));
        assertEquals(Code.DEADLINE_EXCEEDED, failed.code());
        if (began.isDone()) {
          if (began.join().equals(name)) {
            assertEquals(Delivery.UNKNOWN, failed.status().delivery());
          }
          break;
        }
        timeout = timeout.multipliedBy(2);
      }
      assertEquals("cancelled", await(ended));
    }
  }

  @Test
  void aDeadlineThatPassesBeforeThereIsAConnectionIsNotSent() {
    try (Client client = Client.of("127.0.0.1:1")) {
      StatusException failed = failure(() -> client.call(SAY, "Ada", SHORT.withWaitForReady(true)));
      assertEquals(Code.DEADLINE_EXCEEDED, failed.code());
      assertEquals(Delivery.NOT_SENT, failed.status().delivery());
    }
  }

  @Test
  void theHandlersDeadlineIsForwardedToItsCalls() throws Exception {
    AtomicReference<Duration> seen = new AtomicReference<>();
    Handler inner =
        Handler.unary(
            OTHER,
            (request, call) -> {
              seen.set(call.timeRemaining());
              return request;
            });
    try (Pair back = new Pair(inner)) {
      Handler outer = Handler.unary(SAY, (request, call) -> back.client.call(OTHER, request));
      try (Pair pair = new Pair(outer)) {
        assertEquals("Ada", pair.client.call(SAY, "Ada", LONG));
        Duration left = seen.get();
        assertNotNull(left);
        assertTrue(left.compareTo(Duration.ofMinutes(10)) <= 0, left.toString());
        assertTrue(left.compareTo(Duration.ofMinutes(5)) > 0, left.toString());
      }
    }
  }

  @Test
  void withoutADeadlineThereIsNone() throws Exception {
    Handler serves = Handler.unary(SAY, (request, call) -> String.valueOf(call.timeRemaining()));
    try (Pair pair = new Pair(serves)) {
      assertEquals("null", pair.client.call(SAY, "Ada"));
    }
  }

  /** What the wire cannot say (protocol.md 10). */
  @Test
  void aDeadlineMoreThan71MinutesAwayIsTheCallersAlone() throws Exception {
    Handler serves = Handler.unary(SAY, (request, call) -> String.valueOf(call.timeRemaining()));
    try (Pair pair = new Pair(serves)) {
      CallOptions options = CallOptions.NONE.withTimeout(Duration.ofMinutes(71));
      assertTrue(pair.client.call(SAY, "Ada", options).startsWith("PT1H"));
      options = CallOptions.NONE.withTimeout(Duration.ofMinutes(90));
      assertEquals("null", pair.client.call(SAY, "Ada", options));
    }
  }

  @Test
  void toCancelTheFutureCancelsTheCall() throws Exception {
    CompletableFuture<String> began = new CompletableFuture<>();
    CompletableFuture<String> told = new CompletableFuture<>();
    Handler serves =
        Handler.unaryAsync(
            SAY,
            (request, call) -> {
              call.onCancel(() -> told.complete("cancelled"));
              began.complete(request);
              return new CompletableFuture<String>();
            });
    try (Pair pair = new Pair(serves)) {
      CompletableFuture<String> said = pair.client.callAsync(SAY, "Ada");
      await(began);
      assertTrue(said.cancel(true));
      assertEquals("cancelled", await(told));
    }
  }

  @Test
  void anInterruptedCallerIsFreeAtOnce() throws Exception {
    CompletableFuture<Thread> began = new CompletableFuture<>();
    CompletableFuture<StatusException> ended = new CompletableFuture<>();
    CompletableFuture<String> never = new CompletableFuture<>();
    try (Pair pair = new Pair(Handler.unaryAsync(SAY, (request, call) -> never))) {
      await(pair.client.connect());
      Thread caller =
          new Thread(
              () -> {
                began.complete(Thread.currentThread());
                try {
                  pair.client.call(SAY, "Ada");
                } catch (StatusException e) {
                  ended.complete(e);
                }
              });
      caller.start();
      await(began).interrupt();
      assertEquals(Code.CANCELLED, await(ended).code());
      caller.join();
    }
  }

  @Test
  void aServerThatStopsAnswersWhatRuns() throws Exception {
    CompletableFuture<String> began = new CompletableFuture<>();
    CompletableFuture<String> go = new CompletableFuture<>();
    Handler serves =
        Handler.unary(
            SAY,
            (request, call) -> {
              began.complete(request);
              return request + go.get();
            });
    try (Pair pair = new Pair(serves)) {
      CompletableFuture<String> said = pair.client.callAsync(SAY, "Ada");
      await(began);
      CompletableFuture<Boolean> stopped =
          CompletableFuture.supplyAsync(() -> pair.server.stop(Pair.PATIENCE));
      await(pair.server.stopping());
      go.complete("!");
      assertEquals("Ada!", await(said));
      assertTrue(await(stopped));
    }
  }

  @Test
  void whatIsLeftAfterTheGraceIsCutOff() throws Exception {
    CompletableFuture<String> began = new CompletableFuture<>();
    Handler serves =
        Handler.unary(
            SAY,
            (request, call) -> {
              began.complete(request);
              new CountDownLatch(1).await();
              return request;
            });
    try (Pair pair = new Pair(serves)) {
      CompletableFuture<String> said = pair.client.callAsync(SAY, "Ada");
      await(began);
      assertFalse(pair.server.stop(Duration.ZERO));
      StatusException failed = failure(() -> await(said));
      assertEquals(Code.UNAVAILABLE, failed.code());
      assertEquals(Delivery.UNKNOWN, failed.status().delivery());
    }
  }

  @Test
  void aServerWaitsForTheOneWayCallsThatItAccepted() throws Exception {
    CompletableFuture<String> go = new CompletableFuture<>();
    AtomicInteger done = new AtomicInteger();
    Handler serves =
        Handler.oneWay(
            NOTE,
            (request, call) -> {
              go.get();
              done.incrementAndGet();
            });
    try (Pair pair = new Pair(serves)) {
      pair.client.send(NOTE, "Ada");
      CompletableFuture<Boolean> stopped =
          CompletableFuture.supplyAsync(() -> pair.server.stop(Pair.PATIENCE));
      await(pair.server.stopping());
      go.complete("");
      assertTrue(await(stopped));
      assertEquals(1, done.get());
    }
  }

  @Test
  void drainingOneOfTwoServersIsNotSeenByCallers() throws Exception {
    Handler serves = Handler.unary(SAY, (request, call) -> request);
    try (Server one = Server.builder().listen("127.0.0.1:0").serve(serves).build().start();
        Server two = Server.builder().listen("127.0.0.1:0").serve(serves).build().start();
        Client client = Client.of("127.0.0.1:" + one.port() + ",127.0.0.1:" + two.port())) {
      await(client.connect());
      CompletableFuture<Boolean> stopped = CompletableFuture.supplyAsync(() -> one.stop());
      while (!stopped.isDone()) {
        assertEquals("Ada", client.call(SAY, "Ada"));
      }
      assertTrue(await(stopped));
      assertEquals("Ada", client.call(SAY, "Ada"));
    }
  }

  @Test
  void aClientThatDrainsWaitsForItsCalls() throws Exception {
    CompletableFuture<String> began = new CompletableFuture<>();
    CompletableFuture<String> go = new CompletableFuture<>();
    Handler serves =
        Handler.unary(
            SAY,
            (request, call) -> {
              began.complete(request);
              return request + go.get();
            });
    try (Pair pair = new Pair(serves)) {
      CompletableFuture<String> said = pair.client.callAsync(SAY, "Ada");
      await(began);
      CompletableFuture<Boolean> drained =
          CompletableFuture.supplyAsync(() -> pair.client.drain(Pair.PATIENCE));
      go.complete("!");
      assertEquals("Ada!", await(said));
      assertTrue(await(drained));
    }
  }

  @Test
  void aClientThatIsClosedEndsItsCalls() throws Exception {
    CompletableFuture<String> began = new CompletableFuture<>();
    CompletableFuture<String> never = new CompletableFuture<>();
    Handler serves =
        Handler.unaryAsync(
            SAY,
            (request, call) -> {
              began.complete(request);
              return never;
            });
    try (Pair pair = new Pair(serves)) {
      CompletableFuture<String> said = pair.client.callAsync(SAY, "Ada");
      await(began);
      pair.client.close();
      StatusException failed = failure(() -> await(said));
      assertEquals(Code.CANCELLED, failed.code());
      assertEquals(Delivery.UNKNOWN, failed.status().delivery());
      never.complete("");
    }
  }

  @Test
  void aConnectionThatIsLostLeavesTheDeliveryUnknown() throws Exception {
    CompletableFuture<String> never = new CompletableFuture<>();
    Handler serves =
        Handler.unaryAsync(
            SAY,
            (request, call) -> {
              call.connection().disconnect();
              return never;
            });
    try (Pair pair = new Pair(serves)) {
      StatusException failed = failure(() -> pair.client.call(SAY, "Ada"));
      assertEquals(Code.UNAVAILABLE, failed.code());
      assertEquals(Delivery.UNKNOWN, failed.status().delivery());
      never.complete("");
    }
  }

  @Test
  void aRefusalThatAllowsItIsRepeatedOnce() throws Exception {
    AtomicInteger asked = new AtomicInteger();
    Admission busy =
        arrival -> {
          if (asked.incrementAndGet() == 1) {
            throw new StatusException(
                Status.of(Code.RESOURCE_EXHAUSTED, "busy").withRetryAfter(Duration.ofMillis(1)));
          }
          return Admitted.as("Ada");
        };
    Handler serves = Handler.unary(SAY, (request, call) -> call.attempt() + " " + call.principal());
    try (Pair pair = new Pair(s -> s.serve(serves).admission(busy), c -> {})) {
      assertEquals("2 Ada", pair.client.call(SAY, ""));
      assertEquals(2, asked.get());
    }
  }

  @Test
  void repeatingCanBeSwitchedOff() throws Exception {
    AtomicInteger asked = new AtomicInteger();
    Admission busy =
        arrival -> {
          asked.incrementAndGet();
          throw new StatusException(
              Status.of(Code.RESOURCE_EXHAUSTED, "busy").withRetryAfter(Duration.ofMillis(1)));
        };
    Handler serves = Handler.unary(SAY, (request, call) -> request);
    try (Pair pair = new Pair(s -> s.serve(serves).admission(busy), c -> c.repeat(false))) {
      StatusException failed = failure(() -> pair.client.call(SAY, ""));
      assertEquals(Code.RESOURCE_EXHAUSTED, failed.code());
      assertEquals(Delivery.REFUSED, failed.status().delivery());
      assertEquals(Duration.ofMillis(1), failed.status().retryAfter());
      assertEquals(1, asked.get());
    }
  }

  @Test
  void aCallAboveTheSlotsWaitsItsTurn() throws Exception {
    CompletableFuture<String> go = new CompletableFuture<>();
    AtomicInteger began = new AtomicInteger();
    Handler serves =
        Handler.unaryAsync(
            SAY,
            (request, call) -> {
              began.incrementAndGet();
              return go;
            });
    try (Pair pair =
        new Pair(
            s -> s.serve(serves).limits(Limits.DEFAULTS.withCalls(1)), c -> c.waitingCalls(1))) {
      await(pair.client.connect());
      CompletableFuture<String> first = pair.client.callAsync(SAY, "");
      until(() -> began.get() == 1, "the first call did not begin");
      CompletableFuture<String> second = pair.client.callAsync(SAY, "");
      StatusException third = failure(() -> pair.client.call(SAY, ""));
      assertEquals(Code.RESOURCE_EXHAUSTED, third.code());
      assertEquals(Delivery.NOT_SENT, third.status().delivery());
      assertEquals(1, await(pair.client.gauges()).waitingCalls());
      go.complete("done");
      assertEquals("done", await(first));
      assertEquals("done", await(second));
      assertEquals(0, await(pair.client.gauges()).waitingCalls());
    }
  }

  @Test
  void aHandlerCannotStopItsOwnServer() throws Exception {
    AtomicReference<Server> server = new AtomicReference<>();
    Handler serves =
        Handler.unary(
            SAY,
            (request, call) -> {
              assertThrows(IllegalStateException.class, () -> server.get().stop());
              return "refused";
            });
    try (Pair pair = new Pair(serves)) {
      server.set(pair.server);
      assertEquals("refused", pair.client.call(SAY, ""));
    }
  }

  @Test
  void aCallThatWaitsIsMadeOnceThereIsAServer() throws Exception {
    Handler serves = Handler.unary(SAY, (request, call) -> request);
    String name = "mem:" + getClass().getName();
    try (Client client = Client.of(name);
        Server server = Server.builder().serve(serves).build()) {
      CompletableFuture<String> said =
          client.callAsync(SAY, "Ada", CallOptions.NONE.withWaitForReady(true));
      server.listen(name);
      assertEquals("Ada", await(said));
    }
  }

  @Test
  void whoIsInterruptedWhileItServesStopsNobodyElse() throws Exception {
    Server server = Server.builder().build();
    CompletableFuture<StatusException> interrupted = new CompletableFuture<>();
    CompletableFuture<String> served = new CompletableFuture<>();
    Thread first =
        new Thread(
            () -> {
              try {
                server.serve();
              } catch (StatusException e) {
                interrupted.complete(e);
              } catch (Exception e) {
                interrupted.completeExceptionally(e);
              }
            });
    Thread second =
        new Thread(
            () -> {
              try {
                server.serve();
                served.complete("stopped");
              } catch (Throwable e) {
                served.completeExceptionally(e);
              }
            });
    first.start();
    second.start();
    until(() -> second.getState() == Thread.State.WAITING, "the second serves");
    first.interrupt();
    assertEquals(Code.CANCELLED, await(interrupted).code());
    assertFalse(served.isDone());
    server.close();
    assertEquals("stopped", await(served));
  }

  @Test
  void anInterruptedCloseIsFinishedByOthers() throws Exception {
    CompletableFuture<String> began = new CompletableFuture<>();
    CountDownLatch go = new CountDownLatch(1);
    Handler stubborn =
        Handler.unary(
            SAY,
            (request, call) -> {
              began.complete(request);
              while (true) {
                try {
                  go.await();
                  return request;
                } catch (InterruptedException e) {
                  // it ends when it wants to
                }
              }
            });
    Server server = Server.builder().listen("127.0.0.1:0").serve(stubborn).build();
    CompletableFuture<String> served = new CompletableFuture<>();
    Thread serves =
        new Thread(
            () -> {
              try {
                server.serve();
                served.complete("stopped");
              } catch (Throwable e) {
                served.completeExceptionally(e);
              }
            });
    serves.start();
    until(() -> server.port() != 0, "it listens");
    try (Client client = Client.of("127.0.0.1:" + server.port())) {
      CompletableFuture<String> said = client.callAsync(SAY, "Ada");
      await(began);
      CompletableFuture<Boolean> closed = new CompletableFuture<>();
      Thread closes =
          new Thread(
              () -> {
                try {
                  server.close();
                  closed.complete(Thread.currentThread().isInterrupted());
                } catch (Throwable e) {
                  closed.completeExceptionally(e);
                }
              });
      closes.start();
      failure(() -> await(said)); // the connection is gone
      closes.interrupt();
      assertTrue(await(closed));
      assertFalse(served.isDone());
      go.countDown();
      assertEquals("stopped", await(served));
    }
  }
}
