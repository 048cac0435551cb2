package io.trunkcall.internal.transport;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.trunkcall.internal.wire.Preface;
import java.io.IOException;
import java.net.BindException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ListenerTest {
  private static final byte[] MESSAGE = "a message".getBytes(StandardCharsets.UTF_8);

  @TempDir Path folder;

  private TestServer plain() throws IOException {
    return new TestServer("127.0.0.1:0", ListenOptions.plain());
  }

  private TestServer secure(boolean allowCleartext) throws Exception {
    Certificates made = new Certificates(folder);
    Path cert = made.issue("server.pem", "localhost");
    TlsSource tls = TlsSource.forServers(new TlsFiles(null, cert, null));
    return new TestServer("127.0.0.1:0", ListenOptions.plain().tls(tls, allowCleartext));
  }

  private static String text(byte[] bytes) {
    return new String(bytes, StandardCharsets.ISO_8859_1);
  }

  @Test
  void bytesMayBeCutAnywhere() throws Exception {
    try (TestServer server = plain();
        RawPeer peer = new RawPeer(server.listener.port())) {
      RawPeer.Client client = new RawPeer.Client();
      CompletableFuture<byte[]> answer = client.ask(MESSAGE);
      for (byte one : client.output()) {
        peer.write(new byte[] {one});
      }
      while (!answer.isDone()) {
        client.input(peer.read(1));
      }
      assertArrayEquals(MESSAGE, answer.get());
    }
  }

  @Test
  void whatIsNoProtocolIsClosedAtOnce() throws Exception {
    try (TestServer server = plain();
        RawPeer peer = new RawPeer(server.listener.port())) {
      peer.write(new byte[] {0, 1, 2});
      assertEquals(-1, peer.socket.getInputStream().read());
      assertTrue(server.rejection().contains("\"\\x00\\x01\\x02\" are no protocol served here"));
    }
  }

  @Test
  void aPrefaceThatIsNoneIsClosed() throws Exception {
    try (TestServer server = plain();
        RawPeer peer = new RawPeer(server.listener.port())) {
      peer.write(new byte[] {(byte) 0xF5, 1});
      assertEquals(0, peer.readAll().length);
      assertTrue(Wait.result(server.end().failed).startsWith("preface"));
    }
  }

  @Test
  void onePeerThatLiesIsToldAndHarmsNoOther() throws Exception {
    try (TestServer server = plain();
        TestClient good = new TestClient();
        RawPeer peer = new RawPeer(server.listener.port())) {
      TestEnd near = good.connect(server.listener.address());
      RawPeer.Client client = new RawPeer.Client();
      peer.write(client.output());
      byte[] lie = new byte[16]; // a frame of type 0
      peer.write(lie);
      // What it still sends is discarded, so that it can read why.
      peer.write(new byte[100_000]);
      assertTrue(text(peer.readAll()).contains("type"));
      assertArrayEquals(MESSAGE, Wait.result(near.call(TestEnd.ECHO, MESSAGE)));
    }
  }

  @Test
  void aPeerThatResetsEndsItsHandlers() throws Exception {
    try (TestServer server = plain();
        RawPeer peer = new RawPeer(server.listener.port())) {
      RawPeer.Client client = new RawPeer.Client();
      CompletableFuture<byte[]> answer = new CompletableFuture<>();
      client.session.unary(TestEnd.HOLD, MESSAGE, 0, MESSAGE.length, 0, 0, answer);
      peer.write(client.output());
      TestEnd end = server.end();
      Wait.result(end.held);
      peer.reset();
      Wait.result(end.stopped);
      assertEquals("Connection reset", Wait.result(end.disconnected));
    }
  }

  @Test
  void aPeerThatClosesBeforeItSpeaksIsToldOf() throws Exception {
    try (TestServer server = plain()) {
      new RawPeer(server.listener.port()).close();
      assertEquals("closed before anything was said", server.rejection());
    }
  }

  @Test
  void silentPeersAreClosedAfterTenSeconds() throws Exception {
    try (TestServer server = plain();
        TestServer secure = secure(false);
        RawPeer silent = new RawPeer(server.listener.port());
        RawPeer begun = new RawPeer(server.listener.port());
        RawPeer inTls = new RawPeer(secure.listener.port())) {
      begun.write(new byte[] {(byte) 0xF5});
      inTls.write(new byte[] {0x16, 3, 1});
      assertEquals(-1, silent.socket.getInputStream().read());
      assertEquals("nothing was said in 10 s", server.rejection());
      assertEquals(-1, begun.socket.getInputStream().read());
      assertTrue(Wait.result(server.end().failed).contains("no preface"));
      assertEquals(-1, inTls.socket.getInputStream().read());
      assertTrue(secure.rejection().contains("longer than 10 s"));
    }
  }

  @Test
  void clientsOfHttpAreTold() throws Exception {
    try (TestServer server = plain();
        RawPeer http1 = new RawPeer(server.listener.port());
        RawPeer http2 = new RawPeer(server.listener.port())) {
      http1.write("GET / HTTP/1.1\r\nHost: here\r\n\r\n");
      assertTrue(http1.readText().startsWith("HTTP/1.1 501 "));
      assertNotNull(server.rejection());
      http2.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
      assertTrue(http2.readText().startsWith("HTTP/1.1 505 "));
      assertTrue(server.rejection().contains("HTTP/2"));
    }
  }

  @Test
  void cleartextIsRefusedWhereTlsIsConfiguredAndToldInItsProtocol() throws Exception {
    try (TestServer server = secure(false);
        RawPeer http = new RawPeer(server.listener.port());
        TestClient client = new TestClient()) {
      http.write("GET / HTTP/1.1\r\n\r\n");
      String answer = http.readText();
      assertTrue(answer.startsWith("HTTP/1.1 400 "), answer);
      assertTrue(answer.contains("use TLS"), answer);
      Throwable failed = Wait.failure(client.dial(server.listener.address()));
      assertTrue(failed.getMessage().contains("cleartext is refused"), failed.getMessage());
    }
  }

  @Test
  void cleartextIsServedBesideTlsWhereThatIsAllowed() throws Exception {
    try (TestServer server = secure(true);
        TestClient client = new TestClient()) {
      TestEnd near = client.connect(server.listener.address());
      assertArrayEquals(MESSAGE, Wait.result(near.call(TestEnd.ECHO, MESSAGE)));
    }
  }

  @Test
  void aClientOfTlsIsToldThatThereIsNone() throws Exception {
    try (TestServer server = plain();
        TestClient client = new TestClient()) {
      client.tls = TlsSource.forClients(new TlsFiles(new Certificates(folder).ca, null, null));
      Throwable failed = Wait.failure(client.dial(server.listener.address()));
      assertTrue(failed.getMessage().contains("does not speak TLS"), failed.getMessage());
      assertEquals("a TLS handshake on a port without TLS", server.rejection());
    }
  }

  @Test
  void connectionsAboveTheLimitAreToldAndTheNextOneHasThePlaceOfOneThatLeft() throws Exception {
    ListenOptions options = ListenOptions.plain().limits(1, 16);
    try (TestServer server = new TestServer("127.0.0.1:0", options);
        TestClient client = new TestClient()) {
      TestEnd first = client.connect(server.listener.address());
      Throwable failed = Wait.failure(client.dial(server.listener.address()));
      assertTrue(failed.getMessage().contains("its 1 connections"), failed.getMessage());
      try (RawPeer http = new RawPeer(server.listener.port())) {
        http.write("GET / HTTP/1.1\r\n\r\n");
        assertTrue(http.readText().startsWith("HTTP/1.1 400 "));
      }
      first.carrier.submit(() -> first.carrier.abort("over"));
      Wait.result(server.end().disconnected);
      TestEnd next = client.connect(server.listener.address());
      assertArrayEquals(MESSAGE, Wait.result(next.call(TestEnd.ECHO, MESSAGE)));
    }
  }

  @Test
  void connectionsFromOneAddressHaveALimitOfTheirOwn() throws Exception {
    ListenOptions options = ListenOptions.plain().limits(100, 1);
    try (TestServer server = new TestServer("127.0.0.1:0", options);
        TestClient client = new TestClient()) {
      client.connect(server.listener.address());
      Throwable failed = Wait.failure(client.dial(server.listener.address()));
      assertTrue(failed.getMessage().contains("from this address"), failed.getMessage());
    }
  }

  @Test
  void anAddressInUseIsRefusedByName() throws Exception {
    try (TestServer server = plain();
        TestServer memory = new TestServer("mem:ListenerTest", ListenOptions.plain())) {
      String address = server.listener.address();
      BindException failed =
          assertThrows(BindException.class, () -> new TestServer(address, ListenOptions.plain()));
      assertEquals("cannot listen on " + address + ": Address already in use", failed.getMessage());
      assertThrows(
          BindException.class, () -> new TestServer("mem:ListenerTest", ListenOptions.plain()));
    }
  }

  @Test
  void theFileOfAUnixSocketWhoseListenerIsGoneIsReplacedAndDeletedAtTheEnd() throws Exception {
    Path path = folder.resolve("socket");
    try (ServerSocketChannel gone = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
      gone.bind(UnixDomainSocketAddress.of(path));
    }
    assertTrue(Files.exists(path));
    try (TestServer server = new TestServer("unix:" + path, ListenOptions.plain());
        TestClient client = new TestClient()) {
      assertThrows(
          BindException.class, () -> new TestServer("unix:" + path, ListenOptions.plain()));
      TestEnd near = client.connect(server.listener.address());
      assertArrayEquals(MESSAGE, Wait.result(near.call(TestEnd.ECHO, MESSAGE)));
    }
    assertFalse(Files.exists(path));
  }

  @Test
  void aFileThatIsNoSocketStays() throws Exception {
    Path path = Files.writeString(folder.resolve("file"), "kept");
    assertThrows(BindException.class, () -> new TestServer("unix:" + path, ListenOptions.plain()));
    assertEquals("kept", Files.readString(path));
  }

  @Test
  void aConnectionThatHasSaidNothingWhenTheListenerClosesIsHandedOver() throws Exception {
    TestServer server = plain();
    try (RawPeer peer = new RawPeer(server.listener.port())) {
      while (server.listener.opening.isEmpty()) {
        Thread.onSpinWait(); // until it was accepted
      }
      server.close();
      TestEnd end = server.end();
      RawPeer.Client client = new RawPeer.Client();
      CompletableFuture<byte[]> answer = client.ask(MESSAGE);
      peer.write(client.output());
      while (!answer.isDone()) {
        client.input(peer.read(1));
      }
      assertNotNull(end);
    }
  }

  @Test
  void theBytesOfARefusalAreThoseOfTheWire() throws Exception {
    try (TestServer server = secure(false);
        RawPeer peer = new RawPeer(server.listener.port())) {
      peer.write(new RawPeer.Client().output());
      byte[] wanted = Preface.notServed("cleartext is refused on this port: use TLS");
      assertArrayEquals(wanted, peer.readAll());
    }
  }
}
