package io.trunkcall;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.trunkcall.Governing.Counting;
import io.trunkcall.Governing.Held;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** How often calls under a policy file are made: retries, hedges, breakers (policy.md 8 to 10). */
@Timeout(120)
final class PolicyCallsTest {
  private static final String RETRYING =
      """
      defaults:
        retries:
          attempts: 4
          backoff: 100ms
          jitter: 0
      services:
        test.Texts:
          methods:
            Say:
              idempotent: %s
      """;

  private static final String HEDGING =
      """
      defaults:
        idempotent: true
        hedging:
          delay: 100ms
          attempts: 3
      """;

  @TempDir private Path folder;

  private static List<Integer> numbers(Governing bench) {
    return bench.attempts.stream().map(CallAttempt::number).toList();
  }

  @Test
  void idempotentCallsAreRetriedAfterTheirPauses() {
    Counting server = Counting.fails(Code.UNAVAILABLE);
    try (Governing bench = new Governing(folder, RETRYING.formatted(true), server)) {
      CompletableFuture<?> call = bench.begin();
      int run = 1;
      for (long pause : List.of(100, 200, 400)) {
        bench.time.untilPause();
        bench.time.advance(Duration.ofMillis(pause - 1));
        assertEquals(run, server.runs.get());
        bench.time.advance(Duration.ofMillis(1));
        run++;
      }
      Status status = Governing.failure(call).status();
      assertEquals(Code.UNAVAILABLE, status.code());
      assertEquals(Delivery.EXECUTED, status.delivery());
      assertEquals(4, server.runs.get());
      Pair.until(() -> bench.attempts.size() == 4, "not all attempts were told");
      assertEquals(List.of(1, 2, 3, 4), numbers(bench));
    }
  }

  @Test
  void othersAreNot() {
    Counting server = Counting.fails(Code.UNAVAILABLE);
    try (Governing bench = new Governing(folder, RETRYING.formatted(false), server)) {
      assertEquals(Code.UNAVAILABLE, Governing.failure(bench.begin()).code());
      assertEquals(1, server.runs.get());
    }
  }

  @Test
  void aRetriedCallSucceeds() {
    Counting server =
        new Counting(
            run ->
                run < 3
                    ? CompletableFuture.failedFuture(
                        new StatusException(Code.UNAVAILABLE, "on purpose"))
                    : CompletableFuture.completedFuture("at last"));
    try (Governing bench = new Governing(folder, RETRYING.formatted(true), server)) {
      CompletableFuture<Response<String>> call = bench.begin();
      bench.time.untilPause();
      bench.time.advance(Duration.ofMillis(100));
      bench.time.untilPause();
      bench.time.advance(Duration.ofMillis(200));
      assertEquals("at last", Pair.await(call).message());
    }
  }

  @Test
  void theTimeoutHoldsOverAllAttempts() {
    Counting server = Counting.sleeps();
    String file = "defaults:\n  timeout: 300ms\n  idempotent: true\n  retries:\n    backoff: 1ms\n";
    try (Governing bench = new Governing(folder, file, server)) {
      assertEquals(Code.DEADLINE_EXCEEDED, Governing.failure(bench.begin()).code());
      assertEquals(1, server.runs.get());
      CallOptions longer = CallOptions.NONE.withoutTimeout(); // which wins over the file
      CompletableFuture<?> other = bench.begin(longer);
      Pair.until(() -> server.runs.get() == 2, "it does not run");
      assertFalse(other.isDone());
    }
  }

  @Test
  void retriesStayWithinTheOneBudget() {
    Counting server = Counting.fails(Code.UNAVAILABLE);
    String budget = "budget:\n  percent: 20\n  least: 0\n";
    String file = budget + RETRYING.formatted(true).replace("backoff: 100ms", "backoff: 1ns");
    try (Governing bench = new Governing(folder, file, server)) {
      for (int call = 0; call < 50; call++) {
        CompletableFuture<?> made = bench.begin();
        Pair.until(
            () -> {
              bench.time.advance(Duration.ofNanos(10));
              return made.isDone();
            },
            "it does not end");
      }
      assertEquals(60, server.runs.get());
    }
  }

  @Test
  void aPauseEndsWithItsClient() {
    Counting server = Counting.fails(Code.UNAVAILABLE);
    Governing bench = new Governing(folder, RETRYING.formatted(true), server);
    CompletableFuture<?> call = bench.begin();
    bench.time.untilPause();
    bench.close();
    Status status = Governing.failure(call).status();
    assertEquals("on purpose", status.message());
    assertEquals(1, server.runs.get());
  }

  @Test
  void aCallThatPausesCanBeCancelled() {
    Counting server = Counting.fails(Code.UNAVAILABLE);
    try (Governing bench = new Governing(folder, RETRYING.formatted(true), server)) {
      CompletableFuture<?> call = bench.begin();
      bench.time.untilPause();
      call.cancel(true);
      assertThrows(CancellationException.class, call::join);
      bench.time.advance(Duration.ofHours(1));
      assertEquals(1, server.runs.get());
    }
  }

  @Test
  void aSlowCallIsHedgedElsewhere() {
    Counting slow = Counting.sleeps();
    Counting quick = Counting.succeeds();
    try (Governing bench = new Governing(folder, HEDGING, slow, quick)) {
      for (int call = 0; call < 6; call++) { // each of which may go to either first
        int before = slow.runs.get();
        CompletableFuture<Response<String>> made = bench.begin();
        Pair.until(() -> slow.runs.get() > before || made.isDone(), "it does not run");
        if (slow.runs.get() > before) { // else no hedge, which might end before it runs
          bench.time.advance(Duration.ofMillis(100));
        }
        assertEquals("ok", Pair.await(made).message());
      }
      assertEquals(6, quick.runs.get());
      Pair.until(() -> bench.attempts.size() == 6 + slow.runs.get(), "not all attempts were told");
      long cancelled =
          bench.attempts.stream().filter(one -> one.status().code() == Code.CANCELLED).count();
      assertEquals(slow.runs.get(), cancelled);
      assertTrue(cancelled > 0);
    }
  }

  @Test
  void hedgesGoWhereNoAttemptOfTheirCallIs() {
    List<Counting> servers = List.of(Counting.sleeps(), Counting.sleeps(), Counting.sleeps());
    String keyed = HEDGING + "  balancer:\n    name: hash\n    key: user\n";
    try (Governing bench = new Governing(folder, keyed, servers.toArray(Counting[]::new))) {
      CallOptions ada = CallOptions.NONE.withMetadata(Metadata.of("user", "ada"));
      for (int call = 1; call <= 5; call++) {
        CompletableFuture<?> made = bench.begin(ada);
        for (int attempt = 1; attempt <= 3; attempt++) {
          int want = 3 * (call - 1) + attempt;
          Pair.until(
              () -> servers.stream().mapToInt(one -> one.runs.get()).sum() == want, "no attempt");
          bench.time.advance(Duration.ofMillis(100));
        }
        made.cancel(true);
        int each = call;
        servers.forEach(one -> assertEquals(each, one.runs.get()));
      }
    }
  }

  @Test
  void anAnswerThatStopsEndsAHedgedCall() {
    Counting server = Counting.fails(Code.NOT_FOUND);
    try (Governing bench = new Governing(folder, HEDGING, server)) {
      assertEquals(Code.NOT_FOUND, Governing.failure(bench.begin()).code());
      assertEquals(1, server.runs.get());
    }
  }

  @Test
  void aHedgedCallOfWhichAllFailEndsWithTheLast() {
    Counting server = Counting.fails(Code.INTERNAL);
    try (Governing bench = new Governing(folder, HEDGING, server)) {
      Status status = Governing.failure(bench.begin()).status();
      assertEquals(Code.INTERNAL, status.code());
      assertEquals(Delivery.EXECUTED, status.delivery());
      assertEquals(3, server.runs.get());
    }
  }

  @Test
  void hedgesHaveTheTimeOfTheirCall() {
    Counting server = Counting.sleeps();
    String file = HEDGING.replace("defaults:", "defaults:\n  timeout: 1s").replace("100ms", "1ms");
    try (Governing bench = new Governing(folder, file, server)) {
      CompletableFuture<?> call = bench.begin();
      for (int run = 1; run <= 3; run++) {
        int want = run;
        Pair.until(() -> server.runs.get() == want || call.isDone(), "no attempt");
        bench.time.advance(Duration.ofMillis(1));
      }
      Status status = Governing.failure(call).status();
      assertEquals(Code.DEADLINE_EXCEEDED, status.code());
      assertEquals(Delivery.UNKNOWN, status.delivery());
      Pair.until(() -> bench.client.running() == 0, "it runs");
    }
  }

  @Test
  void hedgesWantBudget() {
    Counting server = Counting.sleeps();
    String file = "budget:\n  percent: 0\n  least: 0\n" + HEDGING;
    try (Governing bench = new Governing(folder, file, server)) {
      CompletableFuture<?> call = bench.begin();
      Pair.until(() -> server.runs.get() == 1, "it does not run");
      bench.time.advance(Duration.ofSeconds(1));
      Pair.await(bench.client.gauges()); // what the loop had to do is done
      assertEquals(1, server.runs.get());
      call.cancel(true);
    }
  }

  /** While none of its attempts runs, only the look at what may follow can end it. */
  @Test
  void aHedgedCallEndsThatMayNotBeMadeAgain() {
    Admission busy =
        arrival -> {
          Status status = Status.of(Code.RESOURCE_EXHAUSTED, "busy");
          throw new StatusException(status.withRetryAfter(Duration.ofMillis(20)));
        };
    Counting never = Counting.sleeps();
    Path file = folder.resolve("busy.yaml");
    Governing.exchange(file, "budget:\n  percent: 0\n  least: 0\n" + HEDGING);
    try (Server server =
            Governing.started(
                Server.builder()
                    .listen("127.0.0.1:0")
                    .admission(busy)
                    .serve(never.handler())
                    .build());
        Client client = Client.builder("127.0.0.1:" + server.port()).policyFile(file).build()) {
      Status status = Governing.failure(client.unary(Texts.SAY, "x", CallOptions.NONE)).status();
      assertEquals(Code.RESOURCE_EXHAUSTED, status.code());
      assertEquals(Delivery.REFUSED, status.delivery());
      assertEquals(0, never.runs.get());
    }
  }

  @Test
  void aHedgedCallEndsWithItsClient() {
    Counting server = Counting.sleeps();
    Governing bench = new Governing(folder, HEDGING, server, Counting.sleeps());
    CompletableFuture<?> call = bench.begin();
    bench.time.untilPause();
    bench.time.advance(Duration.ofMillis(100));
    bench.close();
    Status status = Governing.failure(call).status();
    assertEquals(Code.CANCELLED, status.code());
    assertEquals(Delivery.UNKNOWN, status.delivery());
  }

  @Test
  void aBreakerOpensAndCloses() {
    Counting server = Counting.fails(Code.UNAVAILABLE);
    String file = "defaults:\n  breaker:\n    consecutive: 3\n    open: 5s\n";
    try (Governing bench = new Governing(folder, file, server)) {
      for (int call = 0; call < 3; call++) {
        assertEquals("on purpose", Governing.failure(bench.begin()).status().message());
      }
      for (int call = 0; call < 5; call++) {
        isRefusedByTheBreaker(bench.begin());
      }
      assertEquals(3, server.runs.get());
      bench.time.advance(Duration.ofSeconds(6));
      server.answer = Counting.succeeds().answer;
      for (int call = 0; call < 3; call++) {
        assertEquals("ok", bench.call());
      }
    }
  }

  private static void isRefusedByTheBreaker(CompletableFuture<?> call) {
    Status status = Governing.failure(call).status();
    assertEquals("breaker of /test.Texts/Say is open", status.message());
    assertEquals(Code.UNAVAILABLE, status.code());
    assertEquals(Delivery.NOT_SENT, status.delivery());
    assertTrue(status.local());
  }

  private static List<CompletableFuture<Response<String>>> begin(Governing bench, int calls) {
    return Stream.generate(bench::begin).limit(calls).toList();
  }

  private static List<CompletableFuture<Response<String>>> ended(
      List<CompletableFuture<Response<String>>> calls) {
    return calls.stream().filter(CompletableFuture::isDone).toList();
  }

  private static void end(Held server, Code code) {
    Pair.until(() -> !server.running.isEmpty(), "no call runs");
    CompletableFuture<String> one = server.running.remove();
    if (code == Code.OK) {
      one.complete("ok");
    } else {
      one.completeExceptionally(new StatusException(code, "on purpose"));
    }
  }

  /** Makes five calls at once, of which three are probes; the last of these ends with a code. */
  private static void probe(Governing bench, Held server, Code last) {
    List<CompletableFuture<Response<String>>> calls = begin(bench, 5);
    Pair.until(
        () -> server.running.size() + ended(calls).size() == 5, "not all run or are refused");
    List<CompletableFuture<Response<String>>> refused = ended(calls);
    assertEquals(2, refused.size());
    refused.forEach(PolicyCallsTest::isRefusedByTheBreaker);
    end(server, Code.OK);
    end(server, Code.OK);
    Pair.until(() -> ended(calls).size() == 4, "probes do not end");
    isRefusedByTheBreaker(bench.begin()); // two of three are not enough
    end(server, last);
    Pair.until(() -> ended(calls).size() == 5, "the last probe does not end");
  }

  @Test
  void aBreakerClosesAfterAllItsProbes() {
    Held server = new Held();
    String file = "defaults:\n  breaker:\n    consecutive: 1\n    open: 5s\n    probes: 3\n";
    try (Governing bench = new Governing(folder, file, server.counting)) {
      CompletableFuture<?> first = bench.begin();
      end(server, Code.UNAVAILABLE);
      assertEquals("on purpose", Governing.failure(first).status().message());
      for (Code last : List.of(Code.UNAVAILABLE, Code.OK)) {
        isRefusedByTheBreaker(bench.begin());
        bench.time.advance(Duration.ofSeconds(6));
        probe(bench, server, last);
      }
      List<CompletableFuture<Response<String>>> calls = begin(bench, 9);
      calls.forEach(one -> end(server, Code.OK));
      calls.forEach(one -> assertEquals("ok", Pair.await(one).message()));
    }
  }

  @Test
  void aBreakerThatOpensEndsACallAsItsAttemptDid() {
    Counting server = Counting.fails(Code.UNAVAILABLE);
    String file = RETRYING.formatted(true) + "    breaker:\n      consecutive: 2\n";
    try (Governing bench = new Governing(folder, file, server)) {
      CompletableFuture<?> call = bench.begin();
      bench.time.untilPause();
      bench.time.advance(Duration.ofMillis(100));
      bench.time.untilPause();
      bench.time.advance(Duration.ofMillis(200));
      assertEquals("on purpose", Governing.failure(call).status().message());
      assertEquals(2, server.runs.get());
    }
  }

  @Test
  void aBreakerThatRefusesAHedgeEndsTheCallAsItsAttemptDid() {
    Counting server = Counting.fails(Code.UNAVAILABLE);
    String file = HEDGING + "  breaker:\n    consecutive: 1\n";
    try (Governing bench = new Governing(folder, file, server)) {
      Status status = Governing.failure(bench.begin()).status();
      assertEquals("on purpose", status.message());
      assertEquals(Delivery.EXECUTED, status.delivery());
      assertEquals(1, server.runs.get());
      isRefusedByTheBreaker(bench.begin());
    }
  }

  @Test
  void aBreakerCountsStreamsToo() {
    String file = "defaults:\n  breaker:\n    consecutive: 2\n    codes: [UNIMPLEMENTED]\n";
    try (Governing bench = new Governing(folder, file, Counting.succeeds())) {
      for (String want : List.of("not served", "not served", "breaker of /test.Texts/Count is")) {
        StatusException failure =
            Pair.failure(() -> bench.client.stream(Texts.COUNT, "1", CallOptions.NONE).receive());
        assertTrue(failure.status().message().contains(want), failure.status().message());
      }
    }
  }

  @Test
  void aCallHasTheDeliveryThatPromisesLeastOfItsAttempts() {
    Counting server = Counting.fails(Code.UNAVAILABLE);
    try (Governing bench = new Governing(folder, RETRYING.formatted(true), server)) {
      CompletableFuture<?> call = bench.begin();
      bench.time.untilPause();
      bench.servers.get(0).close();
      bench.untilGone();
      bench.time.advance(Duration.ofMillis(100));
      Status status = Governing.failure(call).status();
      assertEquals(Code.UNAVAILABLE, status.code());
      assertEquals(
          Delivery.EXECUTED, status.delivery()); // of the first, as the second was not sent
      assertFalse(status.message().contains("on purpose"), status.message());
    }
  }

  @Test
  void aProbeThatCouldNotBeMadeHoldsNobodyUp() {
    String file = "defaults:\n  breaker:\n    consecutive: 1\n    open: 5s\n";
    try (Governing bench = new Governing(folder, file, Counting.fails(Code.UNAVAILABLE))) {
      assertEquals("on purpose", Governing.failure(bench.begin()).status().message());
      bench.servers.get(0).close();
      bench.untilGone();
      bench.time.advance(Duration.ofSeconds(6));
      for (int call = 0; call < 3; call++) {
        Status status = Governing.failure(bench.begin()).status();
        assertFalse(status.message().contains("breaker"), status.message());
      }
    }
  }

  /** Of three servers one is slow, one fails, and one fails now and then. */
  private static void misbehave(Path folder, boolean idempotent) {
    Counting slow =
        new Counting(
            run ->
                new CompletableFuture<String>()
                    .completeOnTimeout("late", 5, TimeUnit.MILLISECONDS));
    Counting bad = Counting.fails(Code.UNAVAILABLE);
    Counting dying =
        new Counting(run -> (run % 3 == 0 ? bad : Counting.succeeds()).answer.answer(run));
    String file =
        """
        budget:
          percent: 50
          least: 1
        defaults:
          idempotent: %s
          retries:
            backoff: 1ms
          outliers:
            percent: 50
            calls: 5
        """
            .formatted(idempotent);
    int calls = 200;
    try (Governing bench =
        new Governing(folder, file, client -> client.timers = Timers.REAL, slow, bad, dying)) {
      int ok = 0;
      for (int call = 0; call < calls; call++) {
        ok += bench.begin().handle((answer, error) -> error == null ? 1 : 0).join();
      }
      int ran = slow.runs.get() + bad.runs.get() + dying.runs.get();
      Pair.until(() -> bench.attempts.size() == ran, "not all attempts were told");
      if (idempotent) {
        assertTrue(ran > calls && ran <= calls + calls / 2, ran + " runs");
        assertTrue(ok >= calls * 9 / 10, ok + " were answered");
      } else {
        assertEquals(calls, ran);
        assertTrue(ok >= calls / 2, ok + " were answered");
      }
    }
  }

  @Test
  void threeServersThatMisbehave() {
    misbehave(folder, true);
    misbehave(folder, false);
  }
}
