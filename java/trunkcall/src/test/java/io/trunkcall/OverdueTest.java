package io.trunkcall;

import static io.trunkcall.Pair.await;
import static io.trunkcall.Pair.failure;
import static io.trunkcall.Texts.OTHER;
import static io.trunkcall.Texts.SAY;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What is told of a call whose deadline has passed. */
@Timeout(120)
final class OverdueTest {
  private static final CallOptions SHORT =
      CallOptions.NONE.withTimeout(Duration.ofMillis(50)).withWaitForReady(true);
  private static final CallOptions LONG =
      CallOptions.NONE.withTimeout(Duration.ofMinutes(10)).withWaitForReady(true);

  @Test
  void theLengthOfATimeoutThatIsOverIsTold() throws Exception {
    CountDownLatch never = new CountDownLatch(1);
    Handler serves =
        Handler.unary(
            SAY,
            (request, call) -> {
              never.await();
              return request;
            });
    ClientInterceptor around = (call, next) -> next.proceed(call);
    try (Pair plain = new Pair(serves);
        Pair intercepted =
            new Pair(server -> server.serve(serves), client -> client.clientInterceptor(around))) {
      for (Pair pair : List.of(plain, intercepted)) {
        await(pair.client.connect());
        String text = "";
        int millis = 50;
        // On a busy machine it is told at first that the call was not sent, or the server tells it.
        for (; !text.startsWith("the deadline passed: "); millis *= 2) {
          CallOptions options = CallOptions.NONE.withTimeout(Duration.ofMillis(millis));
          text = failure(() -> pair.client.call(SAY, "Ada", options)).status().message();
        }
        String length = Failures.overdue(SAY, millis / 2 * 1_000L);
        assertEquals("the deadline passed: " + length, text);
      }
    }
    try (Client client = Client.of("127.0.0.1:1")) {
      StatusException failed = failure(() -> client.call(SAY, "Ada", SHORT));
      String text = failed.status().message();
      assertTrue(text.contains(": " + SAY.name() + " had 50ms"), text);
    }
  }

  @Test
  void theLengthOfATimeoutIsWrittenAsInAllLanguages() {
    Map<Long, String> written =
        Map.of(
            50L, " had 50µs",
            1_500L, " had 1.5ms",
            200_000L, " had 200ms",
            1_000_000L, " had 1s",
            2_000_001L, " had 2.000001s",
            90_500_000L, " had 1m30.5s",
            600_000_000L, " had 10m0s",
            3_600_000_000L, " had 1h0m0s",
            0L, "");
    written.forEach(
        (micros, text) -> assertEquals(SAY.name() + text, Failures.overdue(SAY, micros)));
  }

  /** It is not a time that the call had itself. */
  @Test
  void theLengthOfTheHandlersOwnDeadlineIsNotTold() throws Exception {
    CompletableFuture<String> within = new CompletableFuture<>();
    try (Client nowhere = Client.of("127.0.0.1:1")) {
      Handler outer =
          Handler.unary(
              SAY,
              (request, call) -> {
                nowhere
                    .unary(OTHER, request, LONG)
                    .whenComplete((answer, failed) -> within.complete(String.valueOf(failed)));
                return request;
              });
      try (Pair pair = new Pair(outer)) {
        await(pair.client.connect());
        for (int millis = 50; !within.isDone(); millis *= 2) {
          CallOptions options = CallOptions.NONE.withTimeout(Duration.ofMillis(millis));
          try {
            pair.client.call(SAY, "Ada", options);
            break;
          } catch (StatusException late) {
            assertEquals(Code.DEADLINE_EXCEEDED, late.code());
          }
        }
        String text = await(within);
        assertTrue(text.contains("the deadline"), text);
        assertFalse(text.contains(OTHER.name() + " had"), text);
      }
    }
  }
}
