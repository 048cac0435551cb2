package io.trunkcall;

import static io.trunkcall.Pair.await;
import static io.trunkcall.Texts.COUNT;
import static io.trunkcall.Texts.JOIN;
import static io.trunkcall.Texts.OTHER;
import static io.trunkcall.Texts.SAY;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.trunkcall.internal.transport.Loops;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Handlers that stream without waiting, and what they know of where they run. */
@Timeout(90)
class StreamAsyncTest {
  private static CompletionStage<String> join(
      Receiver<String> requests, List<String> before, ServerCall call) {
    return requests
        .receiveAsync()
        .thenCompose(
            one -> {
              if (one == null) {
                return CompletableFuture.completedFuture(String.join(",", before));
              }
              before.add(one);
              return join(requests, before, call);
            });
  }

  @Test
  void manyRequestsAreReceivedWithoutWaiting() throws Exception {
    Handler serves =
        Handler.streamAsync(
            JOIN, (request, requests, responses, call) -> join(requests, new ArrayList<>(), call));
    try (Pair pair = new Pair(serves);
        ClientStream<String, String> stream = pair.client.open(JOIN)) {
      stream.send("a");
      stream.send("b");
      assertEquals("a,b", stream.response());
    }
  }

  @Test
  void responsesAreSentWithoutWaiting() throws Exception {
    Handler serves =
        Handler.streamAsync(
            COUNT,
            (request, requests, responses, call) ->
                responses
                    .sendAsync("1 of " + request)
                    .thenCompose(more -> responses.sendAsync("2 of " + request))
                    .thenApply(more -> null));
    try (Pair pair = new Pair(serves)) {
      List<String> all = new ArrayList<>();
      pair.client.open(COUNT, "2").forEach(all::add);
      assertEquals(List.of("1 of 2", "2 of 2"), all);
    }
  }

  @Test
  void aUnaryMethodHasNoStream() {
    assertThrows(
        IllegalArgumentException.class,
        () -> Handler.streamAsync(SAY, (request, requests, responses, call) -> null));
  }

  @Test
  void aCallTellsWhereItsHandlerRuns() throws Exception {
    CompletableFuture<Boolean> pooled = new CompletableFuture<>();
    CompletableFuture<Boolean> inline = new CompletableFuture<>();
    Handler first =
        Handler.unary(
            SAY,
            (request, call) -> {
              call.executor().execute(() -> pooled.complete(Loops.onLoop()));
              return request;
            });
    Handler second =
        Handler.unary(
                OTHER,
                (request, call) -> {
                  call.executor().execute(() -> inline.complete(Loops.onLoop()));
                  return request;
                })
            .inline();
    try (Pair pair = new Pair(first, second)) {
      pair.client.call(SAY, "Ada");
      pair.client.call(OTHER, "Ada");
      assertEquals(false, await(pooled));
      assertTrue(await(inline));
    }
  }

  @Test
  void whatIsDetachedInheritsNothing() throws Exception {
    Handler serves =
        Handler.unary(
            SAY,
            (request, call) -> {
              assertNull(ServerCall.<ServerCall>detached(ServerCall::current));
              assertNotNull(ServerCall.current());
              return request;
            });
    try (Pair pair = new Pair(serves)) {
      CallOptions options = CallOptions.NONE.withTimeout(Duration.ofMinutes(1));
      assertEquals("Ada", pair.client.call(SAY, "Ada", options));
    }
  }
}
