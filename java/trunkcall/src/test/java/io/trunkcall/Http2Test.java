package io.trunkcall;

import static io.trunkcall.Http2Peer.END;
import static io.trunkcall.Http2Peer.ENHANCE_YOUR_CALM;
import static io.trunkcall.Http2Peer.GOAWAY;
import static io.trunkcall.Http2Peer.HEADERS;
import static io.trunkcall.Http2Peer.PROTOCOL_ERROR;
import static io.trunkcall.Http2Peer.RESET;
import static io.trunkcall.Pair.await;
import static io.trunkcall.Pair.until;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.trunkcall.internal.transport.Clock;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.SSLContext;
import org.junit.jupiter.api.Test;

/** What connections of HTTP/2 may do to a server, and how they end (spec/http.md 1 to 3). */
class Http2Test {
  private static final int WINDOW = 65_535;
  private static final int MEMORY = 4 << 20;
  private static final int MOST_HELD = MEMORY + (128 << 10); // with what does not count
  private static final Method<byte[], byte[]> CALL =
      Method.unary("/t.S/Call", Codec.raw(), Codec.raw());
  private static final Method<byte[], byte[]> SEND =
      Method.clientStream("/t.S/Send", Codec.raw(), Codec.raw());

  private static Handler echo() {
    return Handler.unary(CALL, (request, call) -> request);
  }

  /** Handlers wait at it; closed, all pass. Servers do not close before their handlers return. */
  private static final class Gate implements AutoCloseable {
    private final CompletableFuture<Boolean> open = new CompletableFuture<>();

    void pass() {
      open.join();
    }

    @Override
    public void close() {
      open.complete(true);
    }
  }

  private static Gauges gauges(Pair pair) {
    return await(pair.server.gauges());
  }

  /** Reads nothing until it is let go on. */
  private static Handler slow(Gate gate) {
    return Handler.clientStream(
        SEND,
        (requests, call) -> {
          gate.pass();
          int all = 0;
          for (byte[] one = requests.receive(); one != null; one = requests.receive()) {
            all += one.length;
          }
          return Integer.toString(all).getBytes(java.nio.charset.StandardCharsets.US_ASCII);
        });
  }

  @Test
  void answersThatAPeerDoesNotTakeHoldMemoryWithinItsBounds() throws Exception {
    int calls = 100;
    AtomicInteger run = new AtomicInteger();
    Handler gives =
        Handler.unary(
            CALL,
            (request, call) -> {
              run.incrementAndGet();
              return new byte[256 << 10];
            });
    try (Pair pair = new Pair(server -> server.serve(gives).memory(MEMORY), client -> {});
        Http2Peer peer = new Http2Peer(pair.server, 0)) {
      for (int at = 0; at < calls; at++) {
        peer.call(2 * at + 1, "/t.S/Call", new byte[1]);
      }
      until(() -> run.get() == calls, "not all calls have run");
      until(() -> gauges(pair).runningHandlers() == 0, "not all handlers have returned");
      long held = gauges(pair).heldBytes();
      assertTrue(held <= MOST_HELD, held + " bytes are held");
      assertTrue(held >= MEMORY / 2, "only " + held + " bytes are held");
      Http2Peer.Frame reset = peer.await(frame -> frame.type() == RESET, "RST_STREAM");
      assertEquals(ENHANCE_YOUR_CALM, reset.error());
      assertTrue(gauges(pair).cutOff() > 0);
      assertEquals(256 << 10, pair.client.call(CALL, new byte[1]).length);
    }
  }

  @Test
  void messagesThatNoHandlerTakesHoldMemoryWithinItsBounds() throws Exception {
    Gate gate = new Gate();
    try (Pair pair = new Pair(server -> server.serve(slow(gate)).memory(MEMORY), client -> {});
        Http2Peer peer = new Http2Peer(pair.server, WINDOW);
        gate) {
      int streams = 40;
      for (int at = 0; at < streams; at++) {
        peer.call(2 * at + 1, "/t.S/Send");
        peer.write(Http2Peer.message(2 * at + 1, new byte[200_000], 0));
      }
      peer.sync();
      long held = gauges(pair).heldBytes();
      assertTrue(held <= MOST_HELD, held + " bytes are held");
      assertTrue(held >= MEMORY / 2, "only " + held + " bytes are held");
      assertTrue(gauges(pair).cutOff() > 0);
      gate.close();
      int last = 2 * streams - 1;
      peer.write(Http2Peer.frame(Http2Peer.DATA, END, last, new byte[0]));
      assertEquals("0", peer.end(last).field("grpc-status"));
    }
  }

  @Test
  void aCallThatHasHeldMemoryForLongestIsToldSo() throws Exception {
    Gate gate = new Gate();
    try (Pair pair = new Pair(server -> server.serve(slow(gate)).memory(MEMORY), client -> {});
        Http2Peer peer = new Http2Peer(pair.server, WINDOW);
        gate) {
      for (int at = 0; at < 40; at++) {
        peer.call(2 * at + 1, "/t.S/Send");
        peer.write(Http2Peer.message(2 * at + 1, new byte[200_000], 0));
      }
      Http2Peer.Frame end = peer.await(HEADERS, 1);
      assertEquals("8", end.field("grpc-status"));
      assertTrue(end.field("grpc-message").contains("memory " + MEMORY), end.toString());
      gate.close();
    }
  }

  @Test
  void aHandlerThatDoesNotReadHoldsThePeerBack() throws Exception {
    Gate gate = new Gate();
    try (Pair pair = new Pair(slow(gate));
        Http2Peer peer = new Http2Peer(pair.server, WINDOW);
        gate) {
      peer.call(1, "/t.S/Send");
      for (int at = 0; at < 24; at++) { // of a window of 256 KiB
        peer.write(Http2Peer.message(1, new byte[10_000], 0));
      }
      peer.write(Http2Peer.frame(Http2Peer.PING, 0, 0, new byte[8]));
      List<Http2Peer.Frame> granted = new ArrayList<>();
      peer.await(
          frame -> {
            if (frame.is(Http2Peer.WINDOW_UPDATE, 1)) {
              granted.add(frame);
            }
            return frame.type() == Http2Peer.PING;
          },
          "the answer to PING");
      assertTrue(granted.isEmpty(), "credit for what no handler has taken");
      gate.close();
      peer.await(Http2Peer.WINDOW_UPDATE, 1);
      peer.write(Http2Peer.message(1, new byte[10], END));
      assertEquals("0", peer.end(1).field("grpc-status"));
    }
  }

  /** No time passes for the server, in which frames without use would be allowed again. */
  private static Pair timeless() throws IOException {
    long now = Clock.micros();
    return new Pair(
        server -> {
          server.serve(echo());
          server.clock = () -> now;
        },
        client -> {});
  }

  @Test
  void requestsThatAreResetAtOnceEndTheConnection() throws Exception {
    try (Pair pair = timeless();
        Http2Peer peer = new Http2Peer(pair.server, WINDOW)) {
      ByteArrayOutputStream all = new ByteArrayOutputStream();
      for (int at = 0; at < 30_000; at++) {
        all.writeBytes(Http2Peer.request(2 * at + 1, "/t.S/Call", 0));
        all.writeBytes(Http2Peer.frame(RESET, 0, 2 * at + 1, new byte[] {0, 0, 0, 8}));
      }
      flood(peer, all.toByteArray());
      assertEquals(ENHANCE_YOUR_CALM, goAway(peer));
      assertArrayEquals(new byte[] {7}, pair.client.call(CALL, new byte[] {7}));
    }
  }

  @Test
  void framesWithoutUseEndTheConnection() throws Exception {
    List<byte[]> useless =
        List.of(
            Http2Peer.frame(Http2Peer.PING, 0, 0, new byte[8]),
            Http2Peer.frame(Http2Peer.SETTINGS, 0, 0, new byte[0]),
            Http2Peer.frame(Http2Peer.PRIORITY, 0, 3, new byte[] {0, 0, 0, 0, 9}),
            Http2Peer.frame(Http2Peer.DATA, 0, 1, new byte[0]),
            Http2Peer.frame(Http2Peer.WINDOW_UPDATE, 0, 0, new byte[] {0, 0, 0, 1}));
    try (Pair pair = timeless()) {
      for (byte[] frame : useless) {
        try (Http2Peer peer = new Http2Peer(pair.server, WINDOW)) {
          peer.call(1, "/t.S/Call");
          ByteArrayOutputStream all = new ByteArrayOutputStream();
          for (int at = 0; at < 60_000; at++) {
            all.writeBytes(frame);
          }
          flood(peer, all.toByteArray());
          assertEquals(ENHANCE_YOUR_CALM, goAway(peer), "frames of type " + frame[3]);
        }
      }
    }
  }

  /** Of requests that there is no place for, behind an answer that the peer does not read. */
  @Test
  void resetsThatNobodyReadsEndTheConnection() throws Exception {
    CompletableFuture<String> told = new CompletableFuture<>();
    Observer observer =
        new Observer() {
          @Override
          public void disconnected(Connection connection, String why) {
            told.complete(why);
          }
        };
    Handler gives = Handler.unary(CALL, (request, call) -> new byte[32 << 20]);
    Limits limits = Limits.DEFAULTS.withCalls(16);
    try (Pair pair =
            new Pair(server -> server.serve(gives).limits(limits).observer(observer), c -> {});
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), pair.server.port())) {
      ByteArrayOutputStream begin = new ByteArrayOutputStream();
      begin.writeBytes(Http2Peer.begin(Integer.MAX_VALUE));
      byte[] more = {0x7F, 0, 0, 0};
      begin.writeBytes(Http2Peer.frame(Http2Peer.WINDOW_UPDATE, 0, 0, more));
      begin.writeBytes(Http2Peer.request(1, "/t.S/Call", 0));
      begin.writeBytes(Http2Peer.message(1, new byte[1], END));
      socket.getOutputStream().write(begin.toByteArray());
      until(() -> gauges(pair).unsentBytes() > 1 << 20, "the answer does not wait");
      ByteArrayOutputStream all = new ByteArrayOutputStream();
      for (int at = 0; at < 2_000; at++) {
        all.writeBytes(Http2Peer.request(2 * at + 3, "/t.S/Call", 0));
      }
      socket.getOutputStream().write(all.toByteArray());
      assertEquals("more than 1040 acknowledgements and resets were not read", await(told));
    }
  }

  private static void flood(Http2Peer peer, byte[] bytes) {
    try {
      peer.write(bytes);
    } catch (IOException closed) {
      // The server has had enough.
    }
  }

  private static int goAway(Http2Peer peer) {
    return peer.await(frame -> frame.type() == GOAWAY, "GOAWAY").error();
  }

  @Test
  void aServerThatDrainsLosesNoCall() throws Exception {
    Gate gate = new Gate();
    AtomicInteger run = new AtomicInteger();
    Handler waits =
        Handler.unary(
            CALL,
            (request, call) -> {
              run.incrementAndGet();
              gate.pass();
              return request;
            });
    try (Pair pair = new Pair(waits);
        Http2Peer peer = new Http2Peer(pair.server, WINDOW);
        gate) {
      int calls = 20;
      for (int at = 0; at < calls; at++) {
        peer.call(2 * at + 1, "/t.S/Call", new byte[] {(byte) at});
      }
      until(() -> run.get() == calls, "not all calls run");
      CompletableFuture<Boolean> stopped =
          CompletableFuture.supplyAsync(() -> pair.server.stop(Pair.PATIENCE.multipliedBy(2)));
      Http2Peer.Frame first = peer.await(frame -> frame.type() == GOAWAY, "the first GOAWAY");
      assertEquals(Integer.MAX_VALUE, last(first));
      Http2Peer.Frame ping = peer.await(Http2Peer.PING, 0);
      int crossing = 2 * calls + 1; // on its way when GOAWAY was
      peer.call(crossing, "/t.S/Call", new byte[] {1});
      peer.write(Http2Peer.frame(Http2Peer.PING, END, 0, ping.payload()));
      Http2Peer.Frame second = peer.await(frame -> frame.type() == GOAWAY, "the second GOAWAY");
      assertEquals(crossing, last(second));
      gate.close();
      Set<Integer> answered = new HashSet<>();
      peer.await(
          frame -> {
            if (frame.type() == HEADERS && "0".equals(frame.field("grpc-status"))) {
              answered.add(frame.stream());
            }
            return frame.type() == Http2Peer.CLOSED;
          },
          "the end of the connection");
      assertEquals(calls + 1, answered.size());
      assertTrue(await(stopped));
    }
  }

  private static int last(Http2Peer.Frame goAway) {
    return java.nio.ByteBuffer.wrap(goAway.payload()).getInt(0);
  }

  @Test
  void whatIsOverALimitIsRefused() throws Exception {
    Limits limits = Limits.DEFAULTS.withMessageBytes(1_000).withCalls(2);
    Gate gate = new Gate();
    try (Pair pair =
            new Pair(server -> server.serve(echo(), slow(gate)).limits(limits), client -> {});
        Http2Peer peer = new Http2Peer(pair.server, WINDOW);
        gate) {
      peer.call(1, "/t.S/Call", new byte[1_001]);
      Http2Peer.Frame end = peer.end(1);
      assertEquals("8", end.field("grpc-status"));
      assertEquals("refused", end.field("trunk-delivery"));
      assertTrue(end.field("grpc-message").contains("max_message 1000"), end.toString());

      String[] many = new String[2 * 129];
      for (int at = 0; at < many.length; at += 2) {
        many[at] = "key-" + at;
        many[at + 1] = "x";
      }
      peer.write(Http2Peer.request(3, "/t.S/Call", END, many));
      Http2Peer.Frame tooLong = peer.end(3);
      assertEquals("8", tooLong.field("grpc-status"));
      assertEquals("refused", tooLong.field("trunk-delivery"));

      peer.call(5, "/t.S/Send");
      peer.call(7, "/t.S/Send");
      peer.call(9, "/t.S/Send");
      assertEquals(Http2Peer.REFUSED_STREAM, peer.await(RESET, 9).error());
      gate.close();
    }
  }

  @Test
  void whereThereIsNoPlaceRequestsAreAnsweredBeforeGoAway() throws Exception {
    try (Pair pair = new Pair(server -> server.serve(echo()).maxConnections(1), client -> {})) {
      pair.client.call(CALL, new byte[1]);
      declined(pair.server, "connections of a server");
    }
  }

  @Test
  void wherePlainConnectionsAreRefusedRequestsAreAnsweredBeforeGoAway() throws Exception {
    Tls tls = Tls.of(SSLContext.getDefault());
    try (Pair pair = new Pair(server -> server.serve(echo()).tls(tls), client -> {})) {
      declined(pair.server, "cleartext is refused");
    }
  }

  private static void declined(Server server, String why) throws Exception {
    byte[] request = Http2Peer.request(1, "/t.S/Call", END); // in time, however busy the machine is
    try (Http2Peer peer = new Http2Peer(server, WINDOW, request)) {
      Http2Peer.Frame end = peer.end(1);
      assertEquals("14", end.field("grpc-status"));
      assertEquals("refused", end.field("trunk-delivery"));
      assertTrue(end.field("grpc-message").contains(why), end.toString());
      Http2Peer.Frame goAway = peer.await(frame -> frame.type() == GOAWAY, "GOAWAY");
      assertEquals(Http2Peer.INADEQUATE_SECURITY, goAway.error());
      assertEquals(1, last(goAway));
    }
  }

  @Test
  void aLengthThatIsNotOfDigitsIsMalformed() throws Exception {
    try (Pair pair = new Pair(echo());
        Http2Peer peer = new Http2Peer(pair.server, WINDOW)) {
      String[] lengths = {"+6", "-6", "6.0", "0x6", "", "6 6", "18446744073709551622"};
      for (int at = 0; at < lengths.length; at++) {
        int stream = 2 * at + 1;
        peer.write(Http2Peer.request(stream, "/t.S/Call", 0, "content-length", lengths[at]));
        peer.write(Http2Peer.message(stream, new byte[1], END));
        Http2Peer.Frame end = peer.end(stream);
        assertEquals(RESET, end.type(), lengths[at]);
        assertEquals(PROTOCOL_ERROR, end.error(), lengths[at]);
      }
      peer.call(99, "/t.S/Call", new byte[1]);
      assertEquals("0", peer.end(99).field("grpc-status"));
    }
  }
}
