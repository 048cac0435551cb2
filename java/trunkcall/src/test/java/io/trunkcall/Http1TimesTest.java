package io.trunkcall;

import static io.trunkcall.Pair.until;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** How long connections of HTTP/1.1, and what they bring, may take (spec/limits.md 6). */
class Http1TimesTest extends HttpTimes {
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

  /** Reads an answer that says how long its body is. */
  private static String sized(Socket socket) throws IOException {
    String head = upTo(socket, "\r\n\r\n");
    Matcher length = Pattern.compile("content-length: (\\d+)").matcher(head);
    assertTrue(length.find(), head);
    byte[] body = socket.getInputStream().readNBytes(Integer.parseInt(length.group(1)));
    return head + new String(body, StandardCharsets.ISO_8859_1);
  }
}
