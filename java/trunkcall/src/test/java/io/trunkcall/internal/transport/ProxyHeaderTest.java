package io.trunkcall.internal.transport;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ProxyHeaderTest {
  private static final byte[] MESSAGE = {1, 2, 3};
  private static final String SIGNATURE = "0d0a0d0a000d0a515549540a";

  private static TestServer server(int most, int mostPerAddress) throws IOException {
    ListenOptions options = ListenOptions.plain().proxied(true).limits(most, mostPerAddress);
    return new TestServer("127.0.0.1:0", options);
  }

  /** Version 1 as a text without its end, version 2 in hexadecimal. */
  private static byte[] header(String spelled) {
    return spelled.startsWith("PROXY")
        ? (spelled + "\r\n").getBytes(StandardCharsets.ISO_8859_1)
        : HexFormat.of().parseHex(SIGNATURE + spelled.replace(" ", ""));
  }

  /** Makes a call behind a header. */
  private static void echoes(RawPeer peer, byte[] header, boolean cut) throws Exception {
    RawPeer.Client client = new RawPeer.Client();
    CompletableFuture<byte[]> answer = client.ask(MESSAGE);
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    all.writeBytes(header);
    all.writeBytes(client.output());
    if (cut) {
      for (byte one : all.toByteArray()) {
        peer.write(new byte[] {one});
      }
    } else {
      peer.write(all.toByteArray());
    }
    while (!answer.isDone()) {
      client.input(peer.read(1));
    }
    assertArrayEquals(MESSAGE, answer.get());
  }

  @ParameterizedTest
  @CsvSource({
    "PROXY TCP4 192.0.2.7 198.51.100.1 4000 443, 192.0.2.7:4000, 198.51.100.1:443",
    "PROXY TCP6 2001:db8::1 2001:db8::2 4000 443, '[2001:db8:0:0:0:0:0:1]:4000', '[2001:db8:0:0:0:0:0:2]:443'",
    "21 11 000c c0000207 c6336401 0fa0 01bb, 192.0.2.7:4000, 198.51.100.1:443",
    // With a value behind the addresses.
    "21 11 0013 c0000207 c6336401 0fa0 01bb 040004 00000000, 192.0.2.7:4000, 198.51.100.1:443",
    "21 21 0024 20010db8000000000000000000000001 20010db8000000000000000000000002 0fa0 01bb,"
        + " '[2001:db8:0:0:0:0:0:1]:4000', '[2001:db8:0:0:0:0:0:2]:443'",
  })
  void theAddressesThatAProxySaysHold(String spelled, String remote, String local)
      throws Exception {
    for (boolean cut : new boolean[] {false, true}) {
      try (TestServer server = server(10, 10);
          RawPeer peer = new RawPeer(server.listener.port())) {
        echoes(peer, header(spelled), cut);
        TestEnd end = server.end();
        assertEquals(remote, end.carrier.remote());
        assertEquals(local, end.carrier.local());
      }
    }
  }

  @ParameterizedTest
  @CsvSource({
    "PROXY UNKNOWN",
    "PROXY UNKNOWN ffff::1 ffff::1 65535 65535",
    "20 00 0000", // the proxy's own
    "21 00 0000", // of no family
  })
  void theSocketsAddressesHoldWhereTheProxySaysNone(String spelled) throws Exception {
    try (TestServer server = server(10, 10);
        RawPeer peer = new RawPeer(server.listener.port())) {
      echoes(peer, header(spelled), false);
      assertEquals("127.0.0.1:" + peer.socket.getLocalPort(), server.end().carrier.remote());
    }
  }

  @ParameterizedTest
  @CsvSource({
    "PROXY TCP4 192.0.2.7 198.51.100.1 4000",
    "PROXY TCP4 192.0.2.7 198.51.100.1 4000 70000",
    "PROXY TCP4 2001:db8::1 2001:db8::2 4000 443",
    "PROXY TCP5 192.0.2.7 198.51.100.1 4000 443",
    "11 11 000c c0000207 c6336401 0fa0 01bb", // another version
    "21 11 0004 c0000207 c6336401 0fa0 01bb", // shorter than its addresses
  })
  void aMalformedHeaderEndsTheConnection(String spelled) throws Exception {
    try (TestServer server = server(10, 10);
        RawPeer peer = new RawPeer(server.listener.port())) {
      peer.write(header(spelled));
      assertEquals(0, peer.readAll().length);
      String why = server.rejection();
      assertTrue(why.startsWith("PROXY protocol: "), why);
    }
  }

  @Test
  void whoeverDoesNotComeThroughTheProxyIsClosedAtOnce() throws Exception {
    try (TestServer server = server(10, 10);
        RawPeer peer = new RawPeer(server.listener.port())) {
      RawPeer.Client client = new RawPeer.Client();
      peer.write(client.output());
      assertEquals(0, peer.readAll().length);
      assertEquals(
          "PROXY protocol: there is no header of the PROXY protocol, which this port wants",
          server.rejection());
    }
  }

  @Test
  void aHeaderHasAnEnd() throws Exception {
    try (TestServer server = server(10, 10);
        RawPeer peer = new RawPeer(server.listener.port())) {
      peer.write("PROXY TCP4 " + " ".repeat(200));
      assertEquals(0, peer.readAll().length);
      assertTrue(server.rejection().startsWith("PROXY protocol: "));
    }
  }

  @Test
  void connectionsAreCountedByTheAddressThatTheProxySays() throws Exception {
    byte[] one = header("PROXY TCP4 192.0.2.7 198.51.100.1 4000 443");
    byte[] other = header("PROXY TCP4 192.0.2.8 198.51.100.1 4000 443");
    try (TestServer server = server(2, 1);
        RawPeer first = new RawPeer(server.listener.port())) {
      echoes(first, one, false);
      try (RawPeer second = new RawPeer(server.listener.port())) {
        second.write(one);
        second.write("GET / HTTP/1.1\r\n\r\n");
        assertTrue(second.readText().contains("1 connections from this address"));
      }
      assertTrue(server.rejection().contains("1 connections from this address"));
      try (RawPeer third = new RawPeer(server.listener.port())) {
        echoes(third, other, false);
        try (RawPeer fourth = new RawPeer(server.listener.port())) {
          fourth.write(header("PROXY TCP4 192.0.2.9 198.51.100.1 4000 443"));
          fourth.write("GET / HTTP/1.1\r\n\r\n");
          assertTrue(fourth.readText().contains("its 2 connections"));
        }
      }
    }
  }
}
