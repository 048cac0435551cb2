package io.trunkcall;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.trunkcall.Governing.Held;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Adaptive limits through calls, by the numbers of policy.md 13: while calls take a hundred times
 * as long as without a queue, a limit that begins at 8 falls to 4, since 4 x 0.5 + 2 is 4.
 */
@Timeout(120)
final class PolicyAdaptiveTest {
  private static final String ADAPTIVE =
      "concurrency:\n    adaptive:\n      start: 8\n      samples: 4\n      window: 1ms\n"
          + "      remeasure: 1h\n";
  private static final Duration QUICK = Duration.ofMillis(10);
  private static final Duration SLOW = Duration.ofSeconds(1);

  @TempDir private Path folder;

  /** How many of so many calls run at once. The others have been refused by the limit. */
  private static int atOnce(
      Client client, Held held, TestTime time, int number, Duration takes, Delivery delivery) {
    int before = held.counting.runs.get();
    List<CompletableFuture<?>> calls = new ArrayList<>();
    for (int call = 0; call < number; call++) {
      calls.add(client.unary(Texts.SAY, "x", CallOptions.NONE));
    }
    Pair.until(
        () ->
            held.running.size() + calls.stream().filter(CompletableFuture::isDone).count()
                == number,
        "not all run or are refused");
    time.advance(takes);
    for (CompletableFuture<?> one : calls) {
      if (one.isDone()) {
        Status status = Governing.failure(one).status();
        assertEquals(Code.RESOURCE_EXHAUSTED, status.code());
        String whose = delivery == Delivery.REFUSED ? " of the server" : "";
        assertEquals("concurrency of defaults" + whose + " is used up", status.message());
        assertEquals(delivery, status.delivery());
      }
    }
    List<CompletableFuture<?>> left = calls.stream().filter(one -> !one.isDone()).toList();
    for (CompletableFuture<String> one = held.running.poll();
        one != null;
        one = held.running.poll()) {
      one.complete("ok");
    }
    left.forEach(Pair::await);
    assertEquals(left.size(), held.counting.runs.get() - before);
    return left.size();
  }

  private static void follows(Client client, Held held, TestTime time, Delivery delivery) {
    for (int batch = 0; batch < 4; batch++) {
      assertEquals(4, atOnce(client, held, time, 4, QUICK, delivery));
    }
    assertEquals(8, atOnce(client, held, time, 8, QUICK, delivery));
    for (int batch = 0; batch < 100; batch++) {
      assertEquals(4, atOnce(client, held, time, 4, SLOW, delivery));
    }
    assertEquals(4, atOnce(client, held, time, 9, SLOW, delivery));
    for (int batch = 0; batch < 30; batch++) {
      assertEquals(4, atOnce(client, held, time, 4, QUICK, delivery));
    }
    assertEquals(8, atOnce(client, held, time, 8, QUICK, delivery));
  }

  @Test
  void aLimitOfAClientFollowsItsServer() {
    Held held = new Held();
    try (Governing bench = new Governing(folder, "defaults:\n  " + ADAPTIVE, held.counting)) {
      follows(bench.client, held, bench.time, Delivery.NOT_SENT);
    }
  }

  @Test
  void aStreamThatStaysOpenIsNoSlowCall() {
    Held held = new Held();
    try (Governing bench = new Governing(folder, "defaults:\n  " + ADAPTIVE, held.counting)) {
      for (int batch = 0; batch < 4; batch++) {
        assertEquals(4, atOnce(bench.client, held, bench.time, 4, QUICK, Delivery.NOT_SENT));
      }
      for (int batch = 0; batch < 20; batch++) {
        List<ClientStream<String, String>> streams = new ArrayList<>();
        for (int call = 0; call < 4; call++) {
          ClientStream<String, String> one =
              bench.client.stream(Texts.TALK, null, CallOptions.NONE);
          one.send("x");
          assertEquals("x", one.receive());
          streams.add(one);
        }
        bench.time.advance(SLOW);
        for (ClientStream<String, String> one : streams) {
          one.halfClose();
          assertNull(one.receive());
        }
      }
      assertEquals(8, atOnce(bench.client, held, bench.time, 8, QUICK, Delivery.NOT_SENT));
    }
  }

  @Test
  void aLimitOfAServerFollowsItsHandlers() throws Exception {
    Path file = folder.resolve("server.yaml");
    Governing.exchange(file, "defaults:\n  server_" + ADAPTIVE);
    Held held = new Held();
    TestTime time = new TestTime();
    try (Pair pair =
        new Pair(
            server -> {
              server.sources = time.sources();
              server.policyFile(file).serve(held.counting.handler());
            },
            client -> client.repeat(false))) {
      follows(pair.client, held, time, Delivery.REFUSED);
    }
  }
}
