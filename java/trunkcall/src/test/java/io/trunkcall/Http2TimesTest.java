package io.trunkcall;

import static io.trunkcall.Http2Peer.DATA;
import static io.trunkcall.Http2Peer.END;
import static io.trunkcall.Http2Peer.ENHANCE_YOUR_CALM;
import static io.trunkcall.Http2Peer.GOAWAY;
import static io.trunkcall.Http2Peer.HEADERS;
import static io.trunkcall.Http2Peer.PING;
import static io.trunkcall.Http2Peer.RESET;
import static io.trunkcall.Pair.until;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** How long connections of HTTP/2, and what they bring, may take (spec/limits.md 5). */
class Http2TimesTest extends HttpTimes {
  private static String goAway(Http2Peer peer, int error) {
    Http2Peer.Frame frame = peer.await(one -> one.type() == GOAWAY, "GOAWAY");
    assertEquals(error, frame.error());
    return text(frame);
  }

  private static String text(Http2Peer.Frame goAway) {
    byte[] payload = goAway.payload();
    return new String(payload, 8, payload.length - 8, StandardCharsets.UTF_8);
  }

  @Test
  void aPeerThatSendsNoSettingsIsToldSo() throws Exception {
    try (Pair pair = pair(echo());
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), pair.server.port())) {
      String preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
      socket.getOutputStream().write(preface.getBytes(StandardCharsets.US_ASCII));
      readAtLeast(socket, 9); // the server's SETTINGS: it has seen the preface
      clock.by(Duration.ofSeconds(11));
      assertTrue(rest(socket).contains("SETTINGS took longer than 10 s"));
    }
  }

  @Test
  void aHeaderBlockThatDoesNotEndEndsTheConnection() throws Exception {
    try (Pair pair = pair(echo());
        Http2Peer peer = new Http2Peer(pair.server, WINDOW)) {
      byte[] request = Http2Peer.request(1, "/t.S/Call", 0);
      request[4] = 0; // no END_HEADERS
      peer.write(request);
      later(
          "GOAWAY",
          () -> goAway(peer, ENHANCE_YOUR_CALM),
          Duration.ofSeconds(11),
          text -> assertEquals("a header block took longer than 10 s", text));
    }
  }

  @Test
  void aFrameThatDoesNotEndEndsTheConnection() throws Exception {
    try (Pair pair = pair(echo());
        Http2Peer peer = new Http2Peer(pair.server, WINDOW)) {
      peer.call(1, "/t.S/Call");
      peer.sync();
      byte[] ping = Http2Peer.frame(PING, 0, 0, new byte[8]);
      byte[] part = Arrays.copyOf(ping, ping.length - 1);
      peer.write(part);
      later(
          "GOAWAY",
          () -> goAway(peer, ENHANCE_YOUR_CALM),
          Duration.ofSeconds(11),
          text -> assertEquals("a frame took longer than 10 s", text));
    }
  }

  @Test
  void aFrameOfDataMayTakeAMinute() throws Exception {
    try (Pair pair = pair(echo());
        Http2Peer peer = new Http2Peer(pair.server, WINDOW)) {
      peer.call(1, "/t.S/Call");
      byte[] message = Http2Peer.message(1, new byte[1_000], END);
      peer.write(Arrays.copyOf(message, 100));
      later(
          "GOAWAY",
          () -> peer.await(one -> one.type() == GOAWAY || one.type() == HEADERS, "an end"),
          Duration.ofSeconds(61),
          end -> {
            boolean called = end.type() == HEADERS && end.field("grpc-status").equals("8");
            assertTrue(called || text(end).startsWith("a frame of DATA took"), end.toString());
          });
    }
  }

  @Test
  void aPeerThatIsSilentIsAskedAndThenGivenUp() throws Exception {
    try (Pair pair = pair(echo());
        Http2Peer peer = new Http2Peer(pair.server, WINDOW)) {
      peer.sync();
      clock.by(Duration.ofSeconds(61));
      peer.await(frame -> frame.type() == PING && !frame.ends(), "PING");
      clock.by(Duration.ofSeconds(21));
      peer.await(frame -> frame.type() == Http2Peer.CLOSED, "the end of the connection");
    }
  }

  @Test
  void aConnectionWithoutRequestsEndsInOrder() throws Exception {
    try (Pair pair = pair(echo());
        Http2Peer peer = new Http2Peer(pair.server, WINDOW)) {
      peer.call(1, "/t.S/Call", new byte[1]);
      assertEquals("0", peer.end(1).field("grpc-status"));
      until(() -> Pair.await(pair.server.gauges()).callsServed() == 0, "a call is open");
      clock.by(Duration.ofMinutes(16));
      goAway(peer, 0);
      peer.await(frame -> frame.type() == Http2Peer.CLOSED, "the end of the connection");
    }
  }

  @Test
  void aPeerThatDoesNotAnswerDrainingIsToldTheLastStreamAllTheSame() throws Exception {
    CompletableFuture<Boolean> open = new CompletableFuture<>();
    Handler waits = Handler.unary(CALL, (request, call) -> open.join() ? request : request);
    try (Pair pair = pair(waits);
        Http2Peer peer = new Http2Peer(pair.server, WINDOW)) {
      peer.call(1, "/t.S/Call", new byte[1]);
      peer.sync();
      CompletableFuture<Boolean> stopped =
          CompletableFuture.supplyAsync(() -> pair.server.stop(Pair.PATIENCE.multipliedBy(2)));
      goAway(peer, 0);
      clock.by(Duration.ofSeconds(11));
      Http2Peer.Frame second = peer.await(frame -> frame.type() == GOAWAY, "the second GOAWAY");
      assertEquals(1, ByteBuffer.wrap(second.payload()).getInt());
      open.complete(true);
      assertEquals("0", peer.end(1).field("grpc-status"));
      assertTrue(Pair.await(stopped));
    }
  }

  @Test
  void aConnectionThatHasReachedItsAgeIsDrained() throws Exception {
    try (Pair pair = pair(server -> server.serve(echo()).maxConnectionAge(Duration.ofSeconds(1)));
        Http2Peer peer = new Http2Peer(pair.server, WINDOW);
        Socket http1 = new Socket(InetAddress.getLoopbackAddress(), pair.server.port())) {
      goAway(peer, 0);
      peer.await(frame -> frame.type() == Http2Peer.CLOSED, "the end of the connection");
      String request = POST + "Content-Length: 2\r\n\r\nhi";
      String all = "";
      while (!all.contains("connection: close")) { // by the answer behind its age
        http1.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
        all += answer(http1, "hi");
      }
      assertEquals(-1, http1.getInputStream().read());
    }
  }

  @Test
  void anAnswerThatIsNotTakenIsResetAfterAMinute() throws Exception {
    try (Pair pair = pair(gives(100));
        Http2Peer peer = new Http2Peer(pair.server, 0)) {
      peer.call(1, "/t.S/Call", new byte[1]);
      peer.await(HEADERS, 1);
      later(
          "RST_STREAM",
          () -> peer.await(RESET, 1),
          Duration.ofSeconds(50),
          reset -> assertEquals(ENHANCE_YOUR_CALM, reset.error()));
    }
  }

  @Test
  void aMessageThatIsSentForTooLongEndsItsCall() throws Exception {
    try (Pair pair = pair(echo());
        Http2Peer peer = new Http2Peer(pair.server, WINDOW)) {
      peer.call(1, "/t.S/Call");
      peer.write(Http2Peer.frame(DATA, 0, 1, new byte[] {0, 0, 0, 0, 9, 1}));
      peer.sync();
      clock.by(Duration.ofSeconds(62));
      Http2Peer.Frame end = peer.end(1);
      assertEquals("8", end.field("grpc-status"));
      assertTrue(end.field("grpc-message").contains("under way"), end.toString());
    }
  }

  /** Each message of a stream has its time, not all of them together. */
  @Test
  void aStreamThatIsTakenSlowlyGoesOn() throws Exception {
    Handler lists =
        Handler.serverStream(
            LIST,
            (request, responses, call) -> {
              boolean more = true;
              while (more) {
                more = responses.send(new byte[1_000]);
              }
            });
    try (Pair pair = pair(lists);
        Http2Peer peer = new Http2Peer(pair.server, 0)) {
      peer.call(1, "/t.S/List", new byte[1]);
      peer.await(HEADERS, 1);
      for (int at = 0; at < 4; at++) {
        credit(peer, 1, 2 * 1_005);
        int took = 0;
        while (took < 2 * 1_005) {
          took += peer.await(DATA, 1).payload().length;
        }
        clock.by(Duration.ofSeconds(30));
        ticked(peer);
      }
      credit(peer, 1, 1_005);
      Http2Peer.Frame next =
          peer.await(frame -> frame.stream() == 1 && frame.type() != HEADERS, "more");
      assertEquals(DATA, next.type());
    }
  }

  private static void credit(Http2Peer peer, int stream, int bytes) throws IOException {
    byte[] more = ByteBuffer.allocate(4).putInt(bytes).array();
    peer.write(Http2Peer.frame(Http2Peer.WINDOW_UPDATE, 0, stream, more));
  }

  @Test
  void aFaultOfWhoLooksAtTimesEndsTheConnectionWithIt() throws Exception {
    AtomicBoolean fails = new AtomicBoolean();
    CompletableFuture<String> told = new CompletableFuture<>();
    Consumer<ServerBuilder> serves =
        server -> {
          server.serve(echo()).observer(tellsEnd(told));
          server.tick = TICK;
          server.clock =
              () -> {
                if (fails.get()) {
                  throw new IllegalStateException("no time");
                }
                return clock.getAsLong();
              };
        };
    try (Pair pair = new Pair(serves, client -> {});
        Http2Peer peer = new Http2Peer(pair.server, WINDOW)) {
      peer.sync();
      fails.set(true);
      peer.await(frame -> frame.type() == Http2Peer.CLOSED, "the end of the connection");
      assertEquals("no time", Pair.await(told));
    }
  }

  /** Tells why a connection has ended. */
  private static Observer tellsEnd(CompletableFuture<String> told) {
    return new Observer() {
      @Override
      public void disconnected(Connection connection, String why) {
        told.complete(why);
      }
    };
  }

  private static void readAtLeast(Socket socket, int bytes) throws IOException {
    socket.getInputStream().readNBytes(bytes);
  }
}
