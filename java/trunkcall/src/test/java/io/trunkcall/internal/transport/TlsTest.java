package io.trunkcall.internal.transport;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.cert.X509Certificate;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.logging.Filter;
import java.util.logging.Logger;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TlsTest {
  private static final byte[] MESSAGE = {1, 2, 3};

  @TempDir Path folder;
  Certificates certificates;
  Path own;

  @BeforeEach
  void issue() throws Exception {
    certificates = new Certificates(folder);
    own = certificates.issue("server.pem", "localhost");
  }

  private TestServer server(Path authority) throws Exception {
    TlsSource tls = TlsSource.forServers(new TlsFiles(authority, own, null));
    return new TestServer("127.0.0.1:0", ListenOptions.plain().tls(tls, false));
  }

  private TestClient client(Path certificate) throws Exception {
    TestClient made = new TestClient();
    made.tls = TlsSource.forClients(new TlsFiles(certificates.ca, certificate, null));
    made.serverName = "localhost";
    return made;
  }

  @Test
  void theProtocolIsNegotiated() throws Exception {
    try (TestServer server = server(null);
        TestClient client = client(null)) {
      TestEnd near = client.connect(server.listener.address());
      assertTrue(near.carrier.tlsNegotiated());
      assertTrue(server.end().carrier.tlsNegotiated());
      assertEquals("TLSv1.3", near.carrier.tls().getProtocol());
    }
  }

  @Test
  void aCertificateMustShowTheName() throws Exception {
    try (TestServer server = server(null);
        TestClient client = client(null)) {
      client.serverName = "another.example";
      String failed = Wait.failure(client.dial(server.listener.address())).getMessage();
      assertTrue(failed.contains("another.example"), failed);
      String told = server.rejection();
      assertTrue(told.startsWith("the TLS handshake failed: "), told);
    }
  }

  @Test
  void anAuthorityThatIsNotTrustedIsNamedAsTheReason() throws Exception {
    Path other = Files.createDirectory(folder.resolve("other"));
    try (TestServer server = server(null);
        TestClient client = client(null)) {
      client.tls = TlsSource.forClients(new TlsFiles(new Certificates(other).ca, null, null));
      String failed = Wait.failure(client.dial(server.listener.address())).getMessage();
      assertTrue(failed.contains("not trusted here"), failed);
    }
  }

  @Test
  void aServerThatOnlyEndsItsDirectionHasEndedTheHandshake() throws Exception {
    try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        TestClient client = client(null)) {
      CompletableFuture<Carrier> dialled = client.dial("127.0.0.1:" + server.getLocalPort());
      try (Socket met = server.accept()) {
        met.shutdownOutput();
        String failed = Wait.failure(dialled).getMessage();
        assertTrue(failed.contains("closed during the TLS handshake"), failed);
      }
    }
  }

  @Test
  void aServerWithAnAuthorityAsksForCertificates() throws Exception {
    Path shown = certificates.issue("client.pem", "some.client");
    try (TestServer server = server(certificates.ca);
        TestClient with = client(shown);
        TestClient without = client(null)) {
      TestEnd near = with.connect(server.listener.address());
      assertArrayEquals(MESSAGE, Wait.result(near.call(TestEnd.ECHO, MESSAGE)));
      var peer = server.end().carrier.tls().getPeerCertificates();
      String subject = ((X509Certificate) peer[0]).getSubjectX500Principal().getName();
      assertEquals("CN=some.client", subject);
      Wait.failure(without.dial(server.listener.address()));
      String told = server.rejection();
      assertTrue(told.startsWith("the TLS handshake failed: "), told);
    }
  }

  @Test
  void aHandshakeThatFailsIsToldOnceAndNotByNetty() throws Exception {
    Logger netty = Logger.getLogger("io.netty.channel.DefaultChannelPipeline");
    List<String> said = new CopyOnWriteArrayList<>();
    Filter before = netty.getFilter();
    netty.setFilter(
        record -> {
          said.add(record.getMessage());
          return false;
        });
    try (TestServer server = server(certificates.ca);
        TestClient without = client(null)) {
      Wait.failure(without.dial(server.listener.address()));
      server.rejection();
    } finally {
      netty.setFilter(before);
    }
    assertEquals(List.of(), said);
  }

  @Test
  void filesThatHaveChangedAreReadForLaterConnections() throws Exception {
    try (TestServer server = server(null);
        TestClient client = client(null)) {
      TestEnd before = client.connect(server.listener.address());
      certificates.issue("server.pem", "renewed.example");
      client.serverName = "renewed.example";
      // They are looked at once a second.
      TestEnd after = null;
      while (after == null) {
        try {
          after = client.connect(server.listener.address());
        } catch (ExecutionException notYet) {
          assertTrue(notYet.getMessage().contains("renewed.example"), notYet.getMessage());
        }
      }
      assertArrayEquals(MESSAGE, Wait.result(after.call(TestEnd.ECHO, MESSAGE)));
      assertArrayEquals(MESSAGE, Wait.result(before.call(TestEnd.ECHO, MESSAGE)));
    }
  }

  @Test
  void filesThatCannotBeUsedAreNamedAtOnce() throws Exception {
    Path none = folder.resolve("none.pem");
    Path empty = Files.createFile(folder.resolve("empty.pem"));
    TlsFiles missing = new TlsFiles(null, none, null);
    assertTrue(
        assertThrows(IOException.class, () -> TlsSource.forServers(missing))
            .getMessage()
            .contains("none.pem"));
    TlsFiles bad = new TlsFiles(empty, own, null);
    assertTrue(
        assertThrows(IOException.class, () -> TlsSource.forServers(bad))
            .getMessage()
            .contains("empty.pem"));
    TlsFiles keyless = new TlsFiles(null, certificates.ca, null);
    assertTrue(
        assertThrows(IOException.class, () -> TlsSource.forServers(keyless))
            .getMessage()
            .contains("ca.pem"));
    assertThrows(
        IllegalArgumentException.class,
        () -> TlsSource.forServers(new TlsFiles(certificates.ca, null, null)));
  }
}
