package io.trunkcall;

import static io.trunkcall.Pair.await;
import static io.trunkcall.Pair.failure;
import static io.trunkcall.Pair.until;
import static io.trunkcall.Texts.SAY;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import io.trunkcall.internal.transport.Turning;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Short handlers that may answer later are run by the loop's own thread, as others are. */
@Timeout(120)
class LoneLaterTest {
  private static final long SHORT = Served.shortNanos;

  private final CompletableFuture<String> go = new CompletableFuture<>();
  private final CompletableFuture<String> pending = new CompletableFuture<>();
  private final CompletableFuture<Thread> waits = new CompletableFuture<>();
  private Server server;
  private Client client;

  /** However slow the machine is, calls count as quick and handlers as short. */
  @BeforeAll
  static void bePatient() {
    Turning.patient(true);
    Served.shortNanos = Long.MAX_VALUE - 1;
  }

  @AfterAll
  static void beAsBefore() {
    Turning.patient(false);
    Served.shortNanos = SHORT;
  }

  @BeforeEach
  void begin() throws IOException {
    ServerSocketChannel socket = ServerSocketChannel.open();
    socket.bind(new InetSocketAddress("127.0.0.1", 0));
    server = Server.builder().serve(Handler.unaryAsync(SAY, this::say)).build();
    server.listen(socket);
    client = Client.of("127.0.0.1:" + server.port());
  }

  @AfterEach
  void end() {
    go.complete("wait!");
    client.close();
    server.close();
  }

  private CompletionStage<String> say(String request, ServerCall call) {
    return switch (request) {
      case "who" -> CompletableFuture.completedFuture(Thread.currentThread().getName());
      case "later" -> CompletableFuture.supplyAsync(() -> "later!");
      case "soon" ->
          CompletableFuture.supplyAsync(
              () -> "soon!", CompletableFuture.delayedExecutor(1, TimeUnit.MILLISECONDS));
      case "fails" ->
          CompletableFuture.failedFuture(new StatusException(Code.NOT_FOUND, "on purpose"));
      case "throws" -> throw new StatusException(Code.NOT_FOUND, "on purpose");
      case "pending" -> pending;
      case "wait" -> {
        waits.complete(Thread.currentThread());
        yield CompletableFuture.completedFuture(await(go));
      }
      default -> CompletableFuture.completedFuture(request + "!");
    };
  }

  private void untilRunByLoop() {
    until(
        () -> {
          String name = client.call(SAY, "who");
          return name.startsWith("trunkcall-nio-loop-") && !name.endsWith("-stand-in");
        },
        "no handler was run by a loop's thread");
  }

  @Test
  void whatIsAnsweredLaterIsAnswered() {
    for (String request : List.of("later", "soon", "Ada")) {
      untilRunByLoop();
      for (int i = 0; i < 100; i++) {
        assertEquals(request + "!", client.call(SAY, request));
      }
      List<CompletableFuture<String>> together = new ArrayList<>();
      for (int i = 0; i < 100; i++) {
        together.add(client.callAsync(SAY, request));
      }
      together.forEach(each -> assertEquals(request + "!", await(each)));
    }
  }

  @Test
  void whatFailsIsToldSo() {
    for (String request : List.of("fails", "throws")) {
      untilRunByLoop();
      StatusException failure = failure(() -> client.call(SAY, request));
      assertEquals(Code.NOT_FOUND, failure.code());
      assertEquals(Delivery.EXECUTED, failure.status().delivery());
    }
  }

  @Test
  void whatIsPendingIsCancelled() {
    untilRunByLoop();
    CompletableFuture<String> result = client.callAsync(SAY, "pending");
    until(() -> server.running() == 1, "the call did not come");
    assertEquals("Ada!", client.call(SAY, "Ada"));
    result.cancel(true);
    until(pending::isCancelled, "what it waits for goes on");
    until(() -> server.running() == 0, "the call goes on");
  }

  @Test
  void aHandlerMayBlock() {
    untilRunByLoop();
    CompletableFuture<String> result = client.callAsync(SAY, "wait");
    await(waits);
    assertEquals("Ada!", await(client.callAsync(SAY, "Ada")));
    assertFalse(result.isDone());
    go.complete("wait!");
    assertEquals("wait!", await(result));
  }
}
