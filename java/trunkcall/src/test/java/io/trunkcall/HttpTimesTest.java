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
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** How long connections of HTTP, and what they bring, may take (spec/limits.md 5 and 6). */
class HttpTimesTest {
  private static final int WINDOW = 65_535;
  private static final long TICK = 20_000; // µs
  private static final Method<byte[], byte[]> CALL =
      Method.unary("/t.S/Call", Codec.raw(), Codec.raw());
  private static final Method<byte[], byte[]> LIST =
      Method.serverStream("/t.S/List", Codec.raw(), Codec.raw());
  private static final String POST =
      "POST /t.S/Call HTTP/1.1\r\nHost: x\r\nContent-Type: application/raw\r\n";

  private final Ahead clock = new Ahead();
  private int ticks;

  private Pair pair(Handler... handlers) throws IOException {
    return pair(server -> server.serve(handlers));
  }

  private Pair pair(Consumer<ServerBuilder> serves) throws IOException {
    return new Pair(
        server -> {
          serves.accept(server);
          server.clock = clock;
          server.tick = TICK;
        },
        client -> {});
  }

  private static Handler echo() {
    return Handler.unary(CALL, (request, call) -> request);
  }

  /** Answers with so many bytes. */
  private static Handler gives(int bytes) {
    return Handler.unary(CALL, (request, call) -> new byte[bytes]);
  }

  private static String goAway(Http2Peer peer, int error) {
    Http2Peer.Frame frame = peer.await(one -> one.type() == GOAWAY, "GOAWAY");
    assertEquals(error, frame.error());
    return text(frame);
  }

  private static String text(Http2Peer.Frame goAway) {
    byte[] payload = goAway.payload();
    return new String(payload, 8, payload.length - 8, StandardCharsets.UTF_8);
  }

  // HTTP/2.

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

  /** Sets the clock forward again and again until something has come. */
  private <T> void later(String what, Supplier<T> comes, Duration step, Consumer<T> then) {
    CompletableFuture<T> come = CompletableFuture.supplyAsync(comes);
    AtomicLong next = new AtomicLong(System.nanoTime());
    until(
        () -> {
          if (System.nanoTime() >= next.get()) {
            clock.by(step);
            next.addAndGet(Duration.ofSeconds(1).toNanos());
          }
          return come.isDone();
        },
        what + " has not come");
    then.accept(come.join());
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

  /** Waits until the server has looked at its times: it resets what stays behind its answer. */
  private void ticked(Http2Peer peer) throws IOException {
    int id = 1_001 + 2 * ticks++;
    peer.write(Http2Peer.request(id, "/t.S/None", 0)); // answered before its end
    peer.await(frame -> frame.stream() == id && frame.type() == RESET, "a look at times");
  }

  private static void credit(Http2Peer peer, int stream, int bytes) throws IOException {
    byte[] more = ByteBuffer.allocate(4).putInt(bytes).array();
    peer.write(Http2Peer.frame(Http2Peer.WINDOW_UPDATE, 0, stream, more));
  }

  // HTTP/1.1.

  @Test
  void aHeaderThatDoesNotEndClosesTheConnection() throws Exception {
    try (Pair pair = pair(echo());
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), pair.server.port())) {
      String request = POST + "Content-Length: 2\r\n\r\nhi";
      socket.getOutputStream().write((request + "POST /t").getBytes(StandardCharsets.US_ASCII));
      answer(socket, "hi");
      later("the end", () -> rest(socket), Duration.ofSeconds(11), end -> assertEquals("", end));
    }
  }

  @Test
  void aConnectionOfHttp1WithoutRequestsIsClosed() throws Exception {
    try (Pair pair = pair(echo());
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), pair.server.port())) {
      String request = POST + "Content-Length: 2\r\n\r\nhi";
      socket.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
      answer(socket, "hi");
      later("the end", () -> rest(socket), Duration.ofMinutes(16), end -> assertEquals("", end));
    }
  }

  @Test
  void aBodyThatIsSentForTooLongEndsItsCall() throws Exception {
    try (Pair pair = pair(echo());
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), pair.server.port())) {
      String request = POST + "Content-Length: 9\r\n\r\nhi";
      socket.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
      later(
          "an answer",
          () -> rest(socket),
          Duration.ofSeconds(50),
          answer -> {
            assertTrue(answer.startsWith("HTTP/1.1 429 "), answer);
            assertTrue(answer.contains("under way"), answer);
          });
    }
  }

  @Test
  void theRestOfABodyBehindItsAnswerHasAMinute() throws Exception {
    String early = POST.replace("/Call", "/None") + "Content-Length: 4\r\n\r\n12";
    try (Pair pair = pair(echo());
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), pair.server.port())) {
      OutputStream out = socket.getOutputStream();
      out.write(early.getBytes(StandardCharsets.US_ASCII));
      assertTrue(sized(socket).contains("unimplemented"));
      clock.by(Duration.ofSeconds(30));
      ticked(pair);
      String next = "34" + POST + "Content-Length: 2\r\n\r\nhi";
      out.write(next.getBytes(StandardCharsets.US_ASCII));
      answer(socket, "hi");
      out.write(early.getBytes(StandardCharsets.US_ASCII));
      sized(socket);
      later("the end", () -> rest(socket), Duration.ofSeconds(61), end -> assertEquals("", end));
    }
  }

  /** Over HTTP/1.1 a stream that was answered early could go on without end. */
  @Test
  void theRestOfAStreamBehindItsAnswerHasASecond() throws Exception {
    Method<byte[], byte[]> take = Method.clientStream("/t.S/Take", Codec.raw(), Codec.raw());
    Handler answers = Handler.clientStream(take, (requests, call) -> new byte[0]);
    String request =
        "POST /t.S/Take HTTP/1.1\r\nHost: x\r\nContent-Type: application/connect+raw\r\n"
            + "Transfer-Encoding: chunked\r\n\r\n";
    try (Pair pair = pair(answers);
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), pair.server.port())) {
      socket.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
      upTo(socket, "0\r\n\r\n");
      clock.by(Duration.ofSeconds(2));
      assertEquals("", Pair.await(CompletableFuture.supplyAsync(() -> rest(socket))));
    }
  }

  @Test
  void anAnswerThatIsUnderWayAtTheDeadlineEndsTheConnection() throws Exception {
    AtomicBoolean begun = new AtomicBoolean(); // an answer that has no end
    Handler lists =
        Handler.serverStream(
            LIST,
            (request, responses, call) -> {
              int sent = 0;
              while (responses.send(new byte[64 << 10])) {
                if (++sent == 16) {
                  begun.set(true);
                }
              }
            });
    try (Pair pair = pair(lists)) {
      // On a busy machine the first deadlines may pass before that.
      for (int millis = 2_000; !begun.get(); millis *= 2) {
        String request =
            "POST /t.S/List HTTP/1.1\r\nHost: x\r\nContent-Type: application/connect+raw\r\n"
                + ("Connect-Timeout-Ms: " + millis + "\r\n")
                + "Content-Length: 6\r\n\r\n\0\0\0\0\1x";
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), pair.server.port())) {
          OutputStream out = socket.getOutputStream();
          out.write(request.getBytes(StandardCharsets.US_ASCII));
          until(() -> begun.get() || isAnswered(socket) && calls(pair) == 0, "no answer");
          if (begun.get()) {
            until(() -> connections(pair) == 0, "it goes on, though nobody reads");
          }
        }
        until(() -> connections(pair) == 0, "the connection stays");
      }
    }
  }

  private static boolean isAnswered(Socket socket) {
    try {
      return socket.getInputStream().available() > 0;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static int calls(Pair pair) {
    return Pair.await(pair.server.gauges()).callsServed();
  }

  private static int connections(Pair pair) {
    return Pair.await(pair.server.gauges()).connections();
  }

  @Test
  void aPeerOfHttp1ThatReadsNothingIsClosed() throws Exception {
    try (Pair pair = pair(gives(32 << 20));
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), pair.server.port())) {
      String request = POST + "Content-Length: 2\r\n\r\nhi";
      socket.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
      until(() -> unsent(pair) > 0, "nothing is there to be read");
      later(
          "the end",
          () -> {
            until(() -> unsent(pair) == 0, "it was not closed");
            return true;
          },
          Duration.ofSeconds(30),
          done -> {});
    }
  }

  private static long unsent(Pair pair) {
    return Pair.await(pair.server.gauges()).unsentBytes();
  }

  /** Requests are not answered as long as the answers before are not taken. */
  @Test
  void requestsInARowWaitForThoseWhoReadAnswers() throws Exception {
    byte[] request = (POST + "Content-Length: 2\r\n\r\nhi").getBytes(StandardCharsets.US_ASCII);
    AtomicLong served = new AtomicLong();
    Handler counts =
        Handler.unary(
            CALL,
            (body, call) -> {
              served.incrementAndGet();
              return new byte[64 << 10];
            });
    try (Pair pair = pair(counts);
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), pair.server.port())) {
      int many = 2_000; // whose answers are 128 MiB
      OutputStream out = socket.getOutputStream();
      for (int at = 0; at < many; at++) {
        out.write(request);
      }
      until(() -> unsent(pair) > 0, "answers do not wait");
      long before = -1;
      while (served.get() != before) { // until it stands still
        before = served.get();
        ticked(pair);
      }
      assertTrue(served.get() < many, "all was answered, and nothing of that read");
      assertTrue(unsent(pair) < 1 << 20, unsent(pair) + " bytes wait");
      InputStream in = socket.getInputStream();
      byte[] some = new byte[1 << 20];
      while (served.get() < many) {
        in.read(some);
      }
    }
  }

  /** The loops have had time for what was to be done: several have looked at their times. */
  private void ticked(Pair pair) throws IOException {
    try (Http2Peer peer = new Http2Peer(pair.server, WINDOW)) {
      ticked(peer);
    }
  }

  // What looks at times.

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

  // Sockets.

  private static void readAtLeast(Socket socket, int bytes) throws IOException {
    socket.getInputStream().readNBytes(bytes);
  }

  /** Reads an answer up to its body. */
  private static String answer(Socket socket, String body) throws IOException {
    return upTo(socket, "\r\n\r\n" + body);
  }

  /** Reads an answer that says how long its body is. */
  private static String sized(Socket socket) throws IOException {
    String head = upTo(socket, "\r\n\r\n");
    Matcher length = Pattern.compile("content-length: (\\d+)").matcher(head);
    assertTrue(length.find(), head);
    byte[] body = socket.getInputStream().readNBytes(Integer.parseInt(length.group(1)));
    return head + new String(body, StandardCharsets.ISO_8859_1);
  }

  private static String upTo(Socket socket, String end) throws IOException {
    StringBuilder all = new StringBuilder();
    while (!all.toString().endsWith(end)) {
      int one = socket.getInputStream().read();
      if (one < 0) {
        throw new IOException("closed behind " + all);
      }
      all.append((char) one);
    }
    return all.toString();
  }

  private static String rest(Socket socket) {
    try {
      return new String(socket.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1);
    } catch (IOException e) {
      return "";
    }
  }
}
