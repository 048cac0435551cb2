package io.trunkcall;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.trunkcall.Governing.Counting;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Limits, priorities and faults for drills of policy files (policy.md 7, 12, 13 and 15). */
@Timeout(120)
final class PolicyLimitsTest {
  @TempDir private Path folder;

  @Test
  void limitsOfAClient() {
    Counting server = Counting.sleeps();
    String file =
        "defaults:\n  rate:\n    per_second: 10\n    burst: 4\n  concurrency:\n    limit: 2\n";
    try (Governing bench = new Governing(folder, file, server)) {
      List<CompletableFuture<Response<String>>> running = List.of(bench.begin(), bench.begin());
      Pair.until(() -> server.runs.get() == 2, "they do not run");
      Map<String, Integer> told = new TreeMap<>();
      for (int call = 0; call < 4; call++) {
        Status status = Governing.failure(bench.begin()).status();
        assertEquals(Code.RESOURCE_EXHAUSTED, status.code());
        assertEquals(Delivery.NOT_SENT, status.delivery());
        assertTrue(status.local());
        told.merge(status.message(), 1, Integer::sum);
      }
      assertEquals(
          Map.of("concurrency of defaults is used up", 2, "rate of defaults is used up", 2), told);
      running.forEach(one -> one.cancel(true));
      server.answer = Counting.succeeds().answer;
      bench.time.advance(Duration.ofSeconds(1));
      Pair.failure(() -> bench.client.stream(Texts.COUNT, "1", CallOptions.NONE).receive());
      for (int call = 0; call < 2; call++) { // whatever was entered was left
        assertEquals("ok", bench.call());
      }
    }
  }

  @Test
  void aStreamGivesItsPlaceBackAtItsEnd() {
    String file = "defaults:\n  concurrency:\n    limit: 1\n";
    try (Governing bench = new Governing(folder, file, Counting.succeeds())) {
      for (int round = 0; round < 3; round++) {
        ClientStream<String, String> stream =
            bench.client.stream(Texts.TALK, null, CallOptions.NONE);
        stream.send("a");
        assertEquals("a", stream.receive());
        assertEquals(Code.RESOURCE_EXHAUSTED, Governing.failure(bench.begin()).code());
        stream.halfClose();
        assertEquals(null, stream.receive());
        assertEquals("ok", bench.call());
      }
    }
  }

  @Test
  void limitsOfAServerGoByPriority() throws Exception {
    Path file = folder.resolve("server.yaml");
    Governing.exchange(
        file,
        "defaults:\n  server_concurrency:\n    limit: 4\n  server_rate:\n    per_second: 1000\n");
    List<CompletableFuture<String>> running = new ArrayList<>();
    ConcurrentLinkedQueue<Priority> seen = new ConcurrentLinkedQueue<>();
    Handler handler =
        Handler.unaryAsync(
            Texts.SAY,
            (request, call) -> {
              CompletableFuture<String> answer = new CompletableFuture<>();
              synchronized (running) {
                running.add(answer);
              }
              seen.add(call.priority());
              return answer;
            });
    try (Pair pair =
        new Pair(
            server -> server.policyFile(file).serve(handler), client -> client.repeat(false))) {
      for (int round = 0; round < 2; round++) {
        List<CompletableFuture<Response<String>>> made = new ArrayList<>();
        for (Priority priority : List.of(Priority.LOW, Priority.NORMAL)) {
          CallOptions options = CallOptions.NONE.withPriority(priority);
          for (int call = 1; call <= 2; call++) {
            made.add(pair.client.unary(Texts.SAY, "x", options));
            int want = made.size();
            Pair.until(() -> seen.size() == want, "it does not run");
          }
          CompletableFuture<?> beyond = pair.client.unary(Texts.SAY, "x", options);
          Status status = Governing.failure(beyond).status();
          assertEquals("concurrency of defaults of the server is used up", status.message());
          assertEquals(Code.RESOURCE_EXHAUSTED, status.code());
          assertEquals(Delivery.REFUSED, status.delivery());
          assertEquals(Duration.ofMillis(1), status.retryAfter());
        }
        assertEquals(
            List.of(Priority.LOW, Priority.LOW, Priority.NORMAL, Priority.NORMAL),
            List.copyOf(seen));
        seen.clear();
        synchronized (running) {
          running.forEach(one -> one.complete("ok"));
          running.clear();
        }
        made.forEach(Pair::await);
        Pair.until(() -> pair.server.running() == 0, "handlers run");
      }
    }
  }

  @Test
  void theRateOfAServerComesBeforeItsAdmission() throws Exception {
    Path file = folder.resolve("server.yaml");
    Governing.exchange(file, "defaults:\n  server_rate:\n    per_second: 2\n    burst: 3\n");
    ConcurrentLinkedQueue<String> asked = new ConcurrentLinkedQueue<>();
    TestTime time = new TestTime();
    try (Pair pair =
        new Pair(
            server -> {
              server.sources = time.sources();
              server
                  .policyFile(file)
                  .admission(
                      call -> {
                        asked.add(call.method().name());
                        return Admitted.ANYBODY;
                      })
                  .serve(Handler.unary(Texts.SAY, (request, call) -> "ok"));
            },
            client -> client.repeat(false))) {
      for (int call = 0; call < 3; call++) {
        Pair.await(pair.client.unary(Texts.SAY, "x", CallOptions.NONE));
      }
      Status status =
          Governing.failure(pair.client.unary(Texts.SAY, "x", CallOptions.NONE)).status();
      assertEquals("rate of defaults of the server is used up", status.message());
      assertEquals(Duration.ofMillis(500), status.retryAfter());
      assertEquals(3, asked.size());
      time.advance(Duration.ofMillis(500));
      Pair.await(pair.client.unary(Texts.SAY, "x", CallOptions.NONE));
    }
  }

  @Test
  void aCallThatAdmissionRefusesGivesItsPlaceBack() throws Exception {
    Path file = folder.resolve("server.yaml");
    Governing.exchange(file, "defaults:\n  server_concurrency:\n    limit: 1\n");
    try (Pair pair =
        new Pair(
            server ->
                server
                    .policyFile(file)
                    .admission(
                        call -> {
                          throw new StatusException(Code.UNAUTHENTICATED, "who?");
                        })
                    .serve(Handler.unary(Texts.SAY, (request, call) -> "ok")),
            client -> {})) {
      for (int call = 0; call < 3; call++) {
        CompletableFuture<?> made = pair.client.unary(Texts.SAY, "x", CallOptions.NONE);
        assertEquals(Code.UNAUTHENTICATED, Governing.failure(made).code());
        Pair.until(() -> pair.server.running() == 0, "it runs");
      }
    }
  }

  @Test
  void streamsThatInterceptorsLeaveOpenEndWithTheirCall() {
    ClientInterceptor again =
        (call, next) -> next.proceed(call).thenCompose(first -> next.proceed(call));
    ClientInterceptor fails =
        (call, next) ->
            next.proceed(call)
                .thenCompose(first -> next.proceed(call))
                .thenCompose(
                    last ->
                        CompletableFuture.failedFuture(
                            new StatusException(Code.ABORTED, "on purpose")));
    ClientInterceptor wraps =
        (call, next) ->
            next.proceed(call)
                .thenCombine(next.proceed(call), (first, last) -> new First((MessageStream) first));
    String file = "defaults:\n  concurrency:\n    limit: 2\n";
    for (ClientInterceptor one : List.of(again, fails, wraps)) {
      Consumer<ClientBuilder> more = client -> client.clientInterceptor(one);
      try (Governing bench = new Governing(folder, file, more, Counting.succeeds())) {
        for (int call = 0; call < 3; call++) { // of which each has two places
          ClientStream<String, String> stream =
              bench.client.stream(Texts.TALK, null, CallOptions.NONE);
          if (one == fails) {
            assertEquals("on purpose", Pair.failure(stream::receive).status().message());
            continue;
          }
          stream.send("x");
          assertEquals("x", stream.receive());
          if (one == wraps) { // the other is open still
            stream.send(First.END);
            assertEquals(null, stream.receive());
          } else {
            stream.cancel();
          }
        }
      }
    }
  }

  /** Messages of the first of two attempts, which end with one of them. */
  private record First(MessageStream of) implements MessageStream {
    static final String END = "end";

    @Override
    public CompletableFuture<Boolean> sendAsync(Object message) {
      return of.sendAsync(message);
    }

    @Override
    public CompletableFuture<@Nullable Object> receiveAsync() {
      return of.receiveAsync().thenApply(message -> END.equals(message) ? null : message);
    }
  }

  @Test
  void aPrioritySurvivesTheHop() throws Exception {
    Path critical = folder.resolve("critical.yaml");
    Path silent = folder.resolve("silent.yaml");
    Governing.exchange(
        critical,
        "services:\n  test.Texts:\n    methods:\n      Say:\n        priority: critical\n");
    Governing.exchange(silent, "");
    ConcurrentLinkedQueue<Priority> seen = new ConcurrentLinkedQueue<>();
    Handler back =
        Handler.unary(
            Texts.OTHER,
            (request, call) -> {
              seen.add(call.priority());
              return request;
            });
    try (Pair inner = new Pair(server -> server.serve(back), client -> client.policyFile(silent));
        Pair plain = new Pair(server -> server.serve(back), client -> {});
        Pair outer =
            new Pair(
                server ->
                    server.serve(
                        Handler.unary(
                            Texts.SAY,
                            (request, call) -> {
                              Pair.await(inner.client.unary(Texts.OTHER, "x", CallOptions.NONE));
                              Pair.await(plain.client.unary(Texts.OTHER, "x", CallOptions.NONE));
                              return request;
                            })),
                client -> client.policyFile(critical))) {
      Pair.await(outer.client.unary(Texts.SAY, "x", CallOptions.NONE));
      CallOptions low = CallOptions.NONE.withPriority(Priority.LOW);
      Pair.await(outer.client.unary(Texts.SAY, "x", low));
      assertEquals(
          List.of(Priority.CRITICAL, Priority.NORMAL, Priority.LOW, Priority.NORMAL),
          List.copyOf(seen));
    }
  }

  @Test
  void aPriorityReplacesOneInMetadataThatIsPassedOn() throws Exception {
    Path silent = folder.resolve("silent.yaml");
    Governing.exchange(silent, "");
    ConcurrentLinkedQueue<Priority> seen = new ConcurrentLinkedQueue<>();
    Handler handler =
        Handler.unary(
            Texts.SAY,
            (request, call) -> {
              seen.add(call.priority());
              return request;
            });
    CallOptions passedOn = CallOptions.NONE.withMetadata(Metadata.of("trunk-priority", "high"));
    try (Pair plain = new Pair(server -> server.serve(handler), client -> {});
        Pair ruled =
            new Pair(server -> server.serve(handler), client -> client.policyFile(silent))) {
      Pair.await(plain.client.unary(Texts.SAY, "x", passedOn));
      Pair.await(plain.client.unary(Texts.SAY, "x", passedOn.withPriority(Priority.NORMAL)));
      Pair.await(ruled.client.unary(Texts.SAY, "x", passedOn));
    }
    assertEquals(List.of(Priority.HIGH, Priority.NORMAL, Priority.NORMAL), List.copyOf(seen));
  }

  @Test
  void aMessageThatCannotBeSentEndsAStreamThatIsNotOpenYet() {
    String file =
        "defaults:\n  concurrency:\n    limit: 1\n  faults:\n    late:\n      per_million: 1000000\n"
            + "      delay: 1s\n";
    try (Governing bench = new Governing(folder, file, Counting.succeeds())) {
      ClientStream<String, String> stream = bench.client.stream(Texts.TALK, null, CallOptions.NONE);
      bench.time.untilPause();
      CompletableFuture<Boolean> sent = stream.sendAsync(Unsaid.nothing());
      assertEquals("the request is null", Governing.failure(sent).status().message());
      Status status = Pair.await(stream.status());
      assertEquals(Code.INTERNAL, status.code());
      assertEquals(Delivery.NOT_SENT, status.delivery());
      bench.time.advance(Duration.ofSeconds(2));
      CompletableFuture<?> next = bench.begin();
      bench.time.untilPause();
      bench.time.advance(Duration.ofSeconds(1));
      Pair.await(next);
    }
  }

  /** What a user's code passes that knows nothing of null. */
  private static final class Unsaid {
    @SuppressWarnings({"NullAway", "TypeParameterUnusedInFormals"})
    static <T> T nothing() {
      return null;
    }
  }

  @Test
  void faultsForDrills() {
    Counting server = Counting.succeeds();
    String file =
        """
        defaults:
          faults:
            late:
              per_million: 1000000
              delay: 2s
            lost:
              per_million: 500000
              code: ABORTED
        """;
    try (Governing bench = new Governing(folder, file, server)) {
      int failed = 0;
      for (int call = 0; call < 50; call++) {
        CompletableFuture<Response<String>> made = bench.begin();
        bench.time.untilPause();
        assertEquals(call - failed, server.runs.get());
        bench.time.advance(Duration.ofSeconds(2));
        Status status =
            Pair.await(
                made.handle(
                    (answer, error) ->
                        error == null ? Status.OK : ((StatusException) error).status()));
        if (!status.ok()) {
          failed++;
          assertEquals("fault lost of the policy", status.message());
          assertEquals(Code.ABORTED, status.code());
          assertEquals(Delivery.NOT_SENT, status.delivery());
          assertTrue(status.local());
        }
      }
      assertTrue(failed > 10 && failed < 40, failed + " failed");
      assertEquals(50 - failed, server.runs.get());
    }
  }

  @Test
  void theDeadlinePassesWhileAFaultHoldsACallUp() {
    String file = "defaults:\n  faults:\n    late:\n      per_million: 1000000\n      delay: 1h\n";
    try (Governing bench =
        new Governing(folder, file, client -> client.timers = Timers.REAL, Counting.succeeds())) {
      CallOptions brief = CallOptions.NONE.withTimeout(Duration.ofMillis(20));
      Status status = Governing.failure(bench.begin(brief)).status();
      assertEquals(Code.DEADLINE_EXCEEDED, status.code());
      assertEquals(Delivery.NOT_SENT, status.delivery());
      assertTrue(status.message().contains("fault of the policy held the call up"));
    }
  }
}
