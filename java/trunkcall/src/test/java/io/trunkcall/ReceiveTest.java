package io.trunkcall;

import static io.trunkcall.Pair.await;
import static io.trunkcall.Texts.CODEC;
import static io.trunkcall.Texts.COUNT;
import static io.trunkcall.Texts.TALK;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Who receives, and gives up. */
@Timeout(90)
class ReceiveTest {
  private static Handler count() {
    return Handler.serverStream(
        COUNT,
        (request, responses, call) -> {
          for (int i = 1; i <= Integer.parseInt(request); i++) {
            responses.send("" + i);
          }
        });
  }

  /** Texts, of which the first is decoded only once the gate is open. */
  private static final class Gate implements Codec<String> {
    final CompletableFuture<Boolean> reached = new CompletableFuture<>();
    final CompletableFuture<Boolean> open = new CompletableFuture<>();
    private final AtomicBoolean first = new AtomicBoolean(true);
    volatile byte[] array; // of the first

    @Override
    public int number() {
      return CODEC.number();
    }

    @Override
    public String name() {
      return CODEC.name();
    }

    @Override
    public void encode(String message, Output out) {
      CODEC.encode(message, out);
    }

    @Override
    public String decode(byte[] array, int offset, int length) {
      if (first.getAndSet(false)) {
        this.array = array;
        reached.complete(true);
        await(open);
      }
      return CODEC.decode(array, offset, length);
    }
  }

  @Test
  void whatIsDecodedForOneWhoGivesUpIsTheNextMessage() throws Exception {
    Gate gate = new Gate();
    Method<String, String> gated = Method.serverStream(COUNT.name(), CODEC, gate);
    try (Pair pair = new Pair(count())) {
      ClientStream<String, String> stream = pair.client.open(gated, "3");
      assertTrue(await(stream.status()).ok()); // all of them are there
      CompletableFuture<String> givenUp = stream.receiveAsync();
      await(gate.reached);
      assertTrue(givenUp.cancel(true));
      CompletableFuture<String> next = stream.receiveAsync();
      gate.open.complete(true);
      assertEquals("1", await(next));
      assertEquals("2", stream.receive());
      assertEquals("3", stream.receive());
      assertNull(stream.receive());
    }
  }

  @Test
  void theArrayOfAMessageThatIsStillDecodedForOneWhoGaveUpIsNotUsedAgain() throws Exception {
    Handler large =
        Handler.serverStream(COUNT, (request, answers, call) -> answers.send("a".repeat(200_000)));
    Gate gate = new Gate();
    Method<String, String> gated = Method.serverStream(COUNT.name(), CODEC, gate);
    try (Pair pair = new Pair(large);
        ClientStream<String, String> stream = pair.client.open(gated, "")) {
      CompletableFuture<String> givenUp = stream.receiveAsync();
      await(gate.reached);
      assertTrue(givenUp.cancel(true));
      assertEquals(200_000, await(stream.receiveAsync()).length());
      boolean usedAgain = Pair.isUsedAgain(gate.array);
      gate.open.complete(true);
      assertFalse(usedAgain);
    }
  }

  @Test
  void whoGivesUpBeforeAMessageHasComeLosesNone() throws Exception {
    Handler talk =
        Handler.bidiStream(
            TALK,
            (requests, responses, call) -> {
              for (String one : requests) {
                responses.send(one);
              }
            });
    try (Pair pair = new Pair(talk);
        ClientStream<String, String> stream = pair.client.open(TALK)) {
      CompletableFuture<String> late = stream.receiveAsync().orTimeout(1, TimeUnit.MILLISECONDS);
      CompletionException failure = assertThrows(CompletionException.class, late::join);
      assertTrue(failure.getCause() instanceof TimeoutException, failure.toString());
      assertTrue(stream.receiveAsync().cancel(false));
      CompletableFuture<String> next = stream.receiveAsync();
      assertThrows(IllegalStateException.class, stream::receiveAsync);
      stream.send("a");
      stream.send("b");
      assertEquals("a", await(next));
      assertEquals("b", stream.receive());
    }
  }

  /** A stream whose interceptors go on when they are told to. */
  private static Pair later(CompletableFuture<Void> goOn, Handler handler) throws Exception {
    ClientInterceptor waits = (call, next) -> goOn.thenCompose(now -> next.proceed(call));
    return new Pair(s -> s.serve(handler), c -> c.clientInterceptor(waits));
  }

  @Test
  void whoGivesUpBeforeAMessageHasComeBehindInterceptorsLosesNone() throws Exception {
    CompletableFuture<Void> goOn = new CompletableFuture<>();
    CompletableFuture<Void> began = new CompletableFuture<>();
    Handler talk =
        Handler.bidiStream(
            TALK,
            (requests, responses, call) -> {
              began.complete(null);
              for (String one : requests) {
                responses.send(one);
              }
            });
    try (Pair pair = later(goOn, talk);
        ClientStream<String, String> stream = pair.client.open(TALK)) {
      assertTrue(stream.receiveAsync().cancel(false)); // before there is a stream
      CompletableFuture<String> givenUp = stream.receiveAsync();
      assertThrows(IllegalStateException.class, stream::receiveAsync);
      goOn.complete(null);
      await(began);
      assertTrue(givenUp.cancel(false));
      stream.send("a");
      stream.send("b");
      assertEquals("a", stream.receive());
      assertEquals("b", await(stream.receiveAsync()));
    }
  }

  @Test
  void whatIsDecodedForOneWhoGivesUpBehindInterceptorsIsTheNextMessage() throws Exception {
    CompletableFuture<Void> goOn = new CompletableFuture<>();
    Gate gate = new Gate();
    Method<String, String> gated = Method.serverStream(COUNT.name(), CODEC, gate);
    try (Pair pair = later(goOn, count());
        ClientStream<String, String> stream = pair.client.open(gated, "3")) {
      CompletableFuture<String> givenUp = stream.receiveAsync();
      goOn.complete(null);
      await(gate.reached);
      assertTrue(givenUp.cancel(true));
      CompletableFuture<String> next = stream.receiveAsync();
      gate.open.complete(true);
      assertEquals("1", await(next));
      assertEquals("2", stream.receive());
      assertEquals("3", stream.receive());
      assertNull(stream.receive());
    }
  }

  @Test
  void whoIsInterruptedWhileHeWaitsLosesNothing() throws Exception {
    Handler talk =
        Handler.bidiStream(
            TALK,
            (requests, responses, call) -> {
              for (String one : requests) {
                responses.send(one);
              }
            });
    try (Pair pair = new Pair(talk);
        ClientStream<String, String> stream = pair.client.open(TALK)) {
      Thread.currentThread().interrupt();
      assertEquals(Code.CANCELLED, Pair.failure(stream::receive).code());
      assertTrue(Thread.interrupted());
      stream.send("a");
      assertEquals("a", stream.receive());
    }
  }
}
