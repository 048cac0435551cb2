package io.trunkcall;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.trunkcall.Governing.Counting;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * What calls that run out of time say of a server: nothing, where most of their time had passed
 * before they were sent (policy.md 10). Their pauses go by the test's clock, their deadlines by the
 * machine's.
 */
@Timeout(120)
final class PolicyLateTest {
  private static final Duration TIMEOUT = Duration.ofSeconds(3);
  private static final Duration PAUSE = Duration.ofMillis(100);

  private static final String FILE =
      """
      defaults:
        idempotent: true
        breaker:
          consecutive: 1
          codes: [DEADLINE_EXCEEDED]
        retries:
          attempts: 2
          backoff: 100ms
          jitter: 0
      """;

  @TempDir private Path early;
  @TempDir private Path late;

  /** A call whose first attempt fails at once, and whose second is not answered. */
  private static CompletableFuture<?> begin(Governing bench, Counting server) {
    server.answer =
        run ->
            run == 1
                ? CompletableFuture.failedFuture(new StatusException(Code.UNAVAILABLE, "not yet"))
                : new CompletableFuture<>();
    CompletableFuture<?> call = bench.begin(CallOptions.NONE.withTimeout(TIMEOUT));
    bench.time.untilPause();
    return call;
  }

  private static Code codeOf(CompletableFuture<?> call) {
    return Governing.failure(call).status().code();
  }

  @Test
  void aBreakerDoesNotCountCallsThatWereSentLate() throws InterruptedException {
    Counting first = Counting.succeeds();
    Counting second = Counting.succeeds();
    try (Governing one = new Governing(early, FILE, first);
        Governing other = new Governing(late, FILE, second)) {
      CompletableFuture<?> inTime = begin(one, first);
      CompletableFuture<?> tooLate = begin(other, second);
      one.time.advance(PAUSE);
      Thread.sleep(TIMEOUT.toMillis() * 6 / 10); // of which that call makes nothing
      other.time.advance(PAUSE);
      assertEquals(Code.DEADLINE_EXCEEDED, codeOf(inTime));
      assertEquals(Code.DEADLINE_EXCEEDED, codeOf(tooLate));
      first.answer = second.answer = Counting.succeeds().answer;
      String open = "breaker of /test.Texts/Say is open";
      assertEquals(open, Governing.failure(one.begin()).status().message());
      assertEquals("ok", other.call());
    }
  }
}
