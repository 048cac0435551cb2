package io.trunkcall.internal.transport;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

class WebSocketTest {
  private static final byte[] MESSAGE = {1, 2, 3};
  private static final String GOOD =
      "Host: here:1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
          + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: trunk\r\n";

  private static TestServer server() throws IOException {
    ListenOptions options = ListenOptions.plain().origins(List.of("https://friend.example"));
    return new TestServer("127.0.0.1:0", options);
  }

  private static RawPeer asked(TestServer server, String request) throws IOException {
    RawPeer made = new RawPeer(server.listener.port());
    made.write(request + "\r\n");
    return made;
  }

  /** Reads the head of an answer. */
  private static String head(RawPeer peer) throws IOException {
    StringBuilder text = new StringBuilder();
    while (text.indexOf("\r\n\r\n") < 0) {
      text.append((char) peer.read(1)[0]);
    }
    return text.toString();
  }

  /** A masked frame. */
  private static byte[] frame(int opcode, byte[] payload) {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    all.write(0x80 | opcode);
    all.write(0x80 | payload.length);
    all.writeBytes(new byte[4]); // a mask of zeros
    all.writeBytes(payload);
    return all.toByteArray();
  }

  /** The payload of the next frame, behind its opcode. */
  private static byte[] nextFrame(RawPeer peer) throws IOException {
    byte[] two = peer.read(2);
    int length = two[1] & 0x7F;
    if (length == 126) {
      byte[] more = peer.read(2);
      length = (more[0] & 0xFF) << 8 | (more[1] & 0xFF);
    }
    byte[] payload = peer.read(length);
    byte[] all = new byte[length + 1];
    all[0] = (byte) (two[0] & 0x0F);
    System.arraycopy(payload, 0, all, 1, length);
    return all;
  }

  @Test
  void framesCarryBytesWhateverTheirBoundaries() throws Exception {
    try (TestServer server = server();
        RawPeer peer = asked(server, "GET / HTTP/1.1\r\n" + GOOD)) {
      String answer = head(peer);
      assertTrue(answer.startsWith("HTTP/1.1 101 "), answer);
      assertFalse(answer.toLowerCase(Locale.ROOT).contains("extensions"), answer);
      RawPeer.Client client = new RawPeer.Client();
      CompletableFuture<byte[]> got = client.ask(MESSAGE);
      for (byte one : client.output()) {
        peer.write(frame(2, new byte[] {one}));
      }
      peer.write(frame(9, new byte[] {7}));
      boolean pong = false;
      while (!got.isDone() || !pong) {
        byte[] frame = nextFrame(peer);
        if (frame[0] == 10) {
          assertEquals(7, frame[1]);
          pong = true;
        } else {
          assertEquals(2, frame[0]);
          client.input(Arrays.copyOfRange(frame, 1, frame.length));
        }
      }
      assertArrayEquals(MESSAGE, got.get());
      peer.write(frame(8, new byte[] {3, (byte) 0xE8}));
      byte[] close = nextFrame(peer);
      assertArrayEquals(new byte[] {8, 3, (byte) 0xE8}, Arrays.copyOf(close, 3));
      assertEquals(-1, peer.socket.getInputStream().read());
      Wait.result(server.end().disconnected);
    }
  }

  /** A frame whose mask changes nothing, as hexadecimal digits. */
  private static String masked(String first, String payload) {
    return first
        + HexFormat.of().toHexDigits((byte) (0x80 | payload.length() / 2))
        + "00000000"
        + payload;
  }

  /** The bytes that a client begins with, in one frame. */
  private static String preface() {
    return masked("82", HexFormat.of().formatHex(new RawPeer.Client().output()));
  }

  static Stream<Arguments> faults() {
    String long125 = "78".repeat(125);
    return Stream.of(
        Arguments.of("text", masked("81", "68"), "", 1003, "a text message"),
        Arguments.of("text, later", preface() + masked("81", "68"), "", 1003, "a text message"),
        Arguments.of("no Trunkcall", masked("82", "010203"), "", 1002, ""),
        Arguments.of("no mask", "820178", "", 1002, ""),
        Arguments.of("no such kind of frame", preface() + masked("83", "78"), "", 1002, ""),
        Arguments.of("a reserved bit", preface() + masked("c2", "78"), "", 1002, ""),
        Arguments.of("a long PING", "89fe007e00000000", "", 1002, ""),
        Arguments.of("a PING in parts", masked("09", "78"), "", 1002, ""),
        Arguments.of("nothing to go on with", masked("80", "78"), "", 1002, ""),
        Arguments.of("a message within one", masked("02", "f5") + masked("82", "f5"), "", 1002, ""),
        Arguments.of("a frame above the limit", "82ff000000000004000100000000", "", 1009, ""),
        Arguments.of("a length without end", "82ff7fffffffffffffff00000000", "", 1009, ""),
        Arguments.of("a negative length", "82ffffffffffffffffff00000000", "", 1002, ""),
        Arguments.of("PINGs", preface(), masked("89", "78"), 1008, "too many frames"),
        Arguments.of("empty PINGs at once", "", masked("89", ""), 1008, "too many frames"),
        Arguments.of("PONGs", preface(), masked("8a", long125), 1008, "too many frames"),
        Arguments.of("empty messages", preface(), masked("82", ""), 1008, "too many frames"),
        Arguments.of(
            "empty pieces", preface() + masked("02", ""), masked("00", ""), 1008, "too many"));
  }

  /** {@code again} comes over and over, until the other side has closed. */
  @ParameterizedTest(name = "{0}")
  @MethodSource("faults")
  void whatBreaksTheRulesIsClosedByItsCode(
      String name, String first, String again, int code, String reason) throws Exception {
    try (TestServer server = server();
        RawPeer peer = asked(server, "GET / HTTP/1.1\r\n" + GOOD)) {
      head(peer);
      peer.write(HexFormat.of().parseHex(first));
      CompletableFuture<Void> floods =
          CompletableFuture.runAsync(() -> flood(peer, HexFormat.of().parseHex(again)));
      byte[] frame = nextFrame(peer);
      while (frame[0] != 8) {
        frame = nextFrame(peer);
      }
      String told = new String(frame, 3, frame.length - 3, StandardCharsets.UTF_8);
      assertEquals(code, (frame[1] & 0xFF) << 8 | (frame[2] & 0xFF), told);
      assertTrue(told.contains(reason), told);
      peer.close();
      Wait.result(floods);
      String why = Wait.result(server.end().disconnected);
      assertTrue(why.contains(reason), why);
    }
  }

  private static void flood(RawPeer peer, byte[] again) {
    ByteArrayOutputStream many = new ByteArrayOutputStream();
    for (int i = 0; i < 1_000; i++) {
      many.writeBytes(again);
    }
    try {
      while (many.size() > 0) {
        peer.write(many.toByteArray());
      }
    } catch (IOException e) {
      // The other side has closed.
    }
  }

  @Test
  void smallFramesWithContentAreNoFlood() throws Exception {
    try (TestServer server = server();
        RawPeer peer = asked(server, "GET / HTTP/1.1\r\n" + GOOD)) {
      head(peer);
      RawPeer.Client client = new RawPeer.Client();
      byte[] message = new byte[50_000];
      CompletableFuture<byte[]> got = client.ask(message);
      ByteArrayOutputStream all = new ByteArrayOutputStream();
      for (byte one : client.output()) {
        all.writeBytes(frame(2, new byte[] {one}));
      }
      peer.write(all.toByteArray());
      while (!got.isDone()) {
        byte[] frame = nextFrame(peer);
        client.input(Arrays.copyOfRange(frame, 1, frame.length));
      }
      assertArrayEquals(message, got.get());
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "405|POST / HTTP/1.1|",
        "505|GET / HTTP/1.0|",
        "400|GET / HTTP/1.1|Host: here:1",
        "426|GET / HTTP/1.1|Upgrade: websocket",
        "426|GET / HTTP/1.1|Sec-WebSocket-Version: 13",
        "400|GET / HTTP/1.1|Sec-WebSocket-Protocol: trunk",
        "400|GET / HTTP/1.1|Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
      })
  void whatIsNoWebSocketIsAnswered(int status, String line, String without) throws Exception {
    String fields = without == null ? GOOD : GOOD.replace(without + "\r\n", "");
    try (TestServer server = server();
        RawPeer peer = asked(server, line + "\r\n" + fields)) {
      String answer = peer.readText();
      assertTrue(answer.startsWith("HTTP/1.1 " + status + " "), answer);
      assertTrue(server.rejection().startsWith(status + " to a request of HTTP: "));
    }
  }

  @Test
  void pagesOfOthersMayOpenNone() throws Exception {
    try (TestServer server = server()) {
      String request = "GET / HTTP/1.1\r\n" + GOOD + "Origin: ";
      try (RawPeer other = asked(server, request + "https://foe.example\r\n")) {
        assertTrue(other.readText().startsWith("HTTP/1.1 403 "));
      }
      try (RawPeer friend = asked(server, request + "https://friend.example\r\n")) {
        assertTrue(head(friend).startsWith("HTTP/1.1 101 "));
      }
      try (RawPeer own = asked(server, request + "http://HERE:1\r\n")) {
        assertTrue(head(own).startsWith("HTTP/1.1 101 "));
      }
    }
  }

  @Test
  void aHeaderThatIsTooLongIsAnswered() throws Exception {
    try (TestServer server = server();
        RawPeer peer = asked(server, "GET / HTTP/1.1\r\nA: " + "b".repeat(40_000) + "\r\n")) {
      assertTrue(peer.readText().startsWith("HTTP/1.1 431 "));
    }
  }

  @Test
  void aClientTellsWhatAServerAnswersInsteadOfAWebSocket() throws Exception {
    ListenOptions plain = ListenOptions.plain();
    try (TestServer server = new TestServer("127.0.0.1:0", plain);
        TestClient client = new TestClient()) {
      String url = "ws://" + server.listener.address() + "/";
      String failed = Wait.failure(client.dial(url)).getMessage();
      assertTrue(failed.contains("the server answers 501 Not Implemented"), failed);
      assertTrue(failed.contains("a client of HTTP came: this port does not serve it"), failed);
    }
  }

  @Test
  void aServerThatEndsItsDirectionWithoutAnAnswerIsNotWaitedFor() throws Exception {
    try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        TestClient client = new TestClient()) {
      CompletableFuture<Carrier> dialled =
          client.dial("ws://127.0.0.1:" + server.getLocalPort() + "/");
      try (Socket met = server.accept()) {
        met.shutdownOutput();
        String failed = Wait.failure(dialled).getMessage();
        assertTrue(failed.contains("no answer to the request for a WebSocket: closed"), failed);
      }
    }
  }

  @Test
  void nativeConnectionsAreServedOnTheSamePort() throws Exception {
    try (TestServer server = server();
        TestClient client = new TestClient()) {
      TestEnd near = client.connect(server.listener.address());
      assertArrayEquals(MESSAGE, Wait.result(near.call(TestEnd.ECHO, MESSAGE)));
    }
  }
}
