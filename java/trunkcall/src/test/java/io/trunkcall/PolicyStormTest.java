package io.trunkcall;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.trunkcall.Governing.Answer;
import io.trunkcall.Governing.Counting;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Servers that call each other, each with retries, while the last one fails: the budget of each
 * bounds what comes there.
 */
@Timeout(120)
final class PolicyStormTest {
  private static final int TIERS = 4;
  private static final int CALLS = 500;
  private static final String RETRYING =
      """
      budget:
        percent: 10
        least: 0
      defaults:
        idempotent: true
        retries:
          attempts: 3
          backoff: 1ns
      """;

  @TempDir Path folder;

  @Test
  void retriesOfFourTiersMakeNoStorm() throws IOException {
    List<Governing> tiers = new ArrayList<>();
    List<Counting> servers = new ArrayList<>();
    try {
      Counting server = Counting.fails(Code.UNAVAILABLE);
      for (int tier = TIERS; tier > 0; tier--) {
        Path own = Files.createDirectory(folder.resolve("tier" + tier));
        Governing caller = new Governing(own, RETRYING, server);
        tiers.add(0, caller);
        servers.add(0, server);
        Answer onwards = run -> caller.begin().thenApply(Response::message);
        server = new Counting(onwards);
      }
      for (int call = 0; call < CALLS; call++) {
        CompletableFuture<?> made = tiers.get(0).begin();
        Pair.until(
            () -> {
              // So little that all calls count in one window of the budget.
              tiers.forEach(one -> one.time.advance(Duration.ofNanos(10)));
              return made.isDone();
            },
            "it does not end");
        assertEquals(Code.UNAVAILABLE, Governing.failure(made).code());
      }
    } finally {
      tiers.forEach(Governing::close);
    }
    // A tenth more at each of the four clients. Without a budget it would be 81 times as many.
    int before = CALLS;
    for (Counting one : servers) {
      before += before / 10;
      assertEquals(before, one.runs.get());
    }
  }
}
