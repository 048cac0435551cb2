package io.trunkcall;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

class GaugesTest {
  @Test
  void whatLiesInTheirPoolsIsToldUntilItIsConsumed() throws Exception {
    CompletableFuture<Void> goOn = new CompletableFuture<>();
    Handler join =
        Handler.clientStream(
            Texts.JOIN,
            (requests, call) -> {
              goOn.get();
              requests.forEach(one -> {});
              return "all";
            });
    try (Pair pair = new Pair(join)) {
      List<ClientStream<String, String>> streams = new ArrayList<>();
      Pair.until(
          () -> {
            // What was not seen there within a second is granted anew: then another one sends.
            if (gauges(pair).heldBytes() >= streams.size() * 6 * 100_000L) {
              streams.add(sends(pair));
            }
            return gauges(pair).poolHeldBytes() >= 300_000;
          },
          "nothing lies in the pool");
      Gauges now = gauges(pair);
      assertTrue(now.poolHeldBytes() <= now.poolBytes(), now.toString());
      goOn.complete(null);
      for (ClientStream<String, String> one : streams) {
        assertEquals("all", one.response());
      }
      Pair.until(() -> gauges(pair).poolHeldBytes() == 0, "it still lies there");
    }
  }

  /** The loop takes messages ahead of who receives: they take memory until he has received them. */
  @Test
  void whatWasTakenAheadIsHeldUntilItIsReceived() throws Exception {
    int count = 200;
    CompletableFuture<Void> begun = new CompletableFuture<>();
    CompletableFuture<Void> goOn = new CompletableFuture<>();
    CompletableFuture<Void> end = new CompletableFuture<>();
    Handler join =
        Handler.clientStream(
            Texts.JOIN,
            (requests, call) -> {
              requests.receive();
              begun.complete(null);
              goOn.get();
              for (int i = 1; i < count; i++) {
                requests.receive();
              }
              end.get();
              return "all";
            });
    Handler say = Handler.unary(Texts.SAY, (request, call) -> request);
    try (Pair pair = new Pair(join, say);
        ClientStream<String, String> stream = pair.client.open(Texts.JOIN)) {
      for (int i = 0; i < count; i++) {
        stream.sendAsync("x".repeat(1_000));
      }
      Pair.await(begun);
      pair.client.call(Texts.SAY, "behind them"); // all of them are there
      // Of those that the handler has, and of those that the loop has for it, 64 KiB do not count.
      Pair.until(() -> gauges(pair).heldBytes() >= count * 1_000 - 2 * (64 << 10), "it is free");
      goOn.complete(null);
      Pair.until(() -> gauges(pair).heldBytes() == 0, "it is held");
      end.complete(null);
      assertEquals("all", stream.response());
    }
  }

  /** Begins a call, and sends more than the window of a stream holds. */
  private static ClientStream<String, String> sends(Pair pair) {
    ClientStream<String, String> stream = pair.client.open(Texts.JOIN);
    for (int i = 0; i < 6; i++) {
      stream.sendAsync("x".repeat(100_000));
    }
    return stream;
  }

  private static Gauges gauges(Pair pair) {
    return Pair.await(pair.server.gauges());
  }

  @Test
  void faultsOfWritingAreToldApartFromThoseOfReading() throws Exception {
    List<String> told = Collections.synchronizedList(new ArrayList<>());
    Observer observer =
        new Observer() {
          @Override
          public void readFailed(Connection connection, Throwable error) {
            told.add("read: " + error.getMessage());
          }

          @Override
          public void writeFailed(Connection connection, Throwable error) {
            told.add("write: " + error.getMessage());
          }

          @Override
          public void disconnected(Connection connection, String why) {
            told.add("over");
          }
        };
    try (Pair pair = new Pair(Handler.unary(Texts.SAY, (request, call) -> request))) {
      pair.client.call(Texts.SAY, "a");
      Connection connection = pair.client.connections().get(0);
      Told tells = new Told(observer, new DroppedEvents());
      Sequence events = Told.sequence();
      // As the JDK says it, and as Netty's epoll does.
      tells.ended(connection, events, new IOException("Broken pipe"), "why");
      tells.ended(connection, events, new IOException("writevAddresses(..) failed: Reset"), "why");
      tells.ended(connection, events, new IOException("recvAddress(..) failed: Reset"), "why");
      tells.ended(connection, events, null, "why");
      Pair.until(() -> told.size() == 7, "not all was told");
    }
    assertEquals(
        List.of(
            "write: Broken pipe",
            "over",
            "write: writevAddresses(..) failed: Reset",
            "over",
            "read: recvAddress(..) failed: Reset",
            "over",
            "over"),
        told);
  }
}
