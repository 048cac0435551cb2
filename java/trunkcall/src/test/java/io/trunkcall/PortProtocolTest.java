package io.trunkcall;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.pkitesting.CertificateBuilder;
import io.netty.pkitesting.X509Bundle;
import io.trunkcall.UserProtocolFixtures.Lines;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Protocols of a user's on the server's port, and mistakes in them. */
@Timeout(120)
class PortProtocolTest {
  private Server server;

  private Server serve(Protocol protocol, Handler... handlers) throws IOException {
    server =
        Server.builder().protocol(protocol).serve(handlers).listen("127.0.0.1:0").build().start();
    return server;
  }

  @AfterEach
  void close() {
    if (server != null) {
      server.close();
    }
  }

  private static Handler echo() {
    return Handler.unary(Texts.SAY, (request, call) -> request + " by " + call.peer());
  }

  private static final class Peer implements AutoCloseable {
    final Socket socket;
    private final BufferedReader in;

    Peer(int port) throws IOException {
      this(new Socket("127.0.0.1", port));
    }

    Peer(Socket socket) throws IOException {
      this.socket = socket;
      socket.setSoTimeout(60_000);
      in =
          new BufferedReader(
              new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
    }

    void write(String text) throws IOException {
      socket.getOutputStream().write(text.getBytes(StandardCharsets.UTF_8));
    }

    String read() throws IOException {
      return in.readLine();
    }

    @Override
    public void close() throws IOException {
      socket.close();
    }
  }

  @Test
  void aConnectionIsKnownByItsFirstBytesAmongAllOthers() throws Exception {
    LinkedBlockingQueue<Connection> seen = new LinkedBlockingQueue<>();
    Handler say =
        Handler.unary(
            Texts.SAY,
            (request, call) -> {
              seen.add(call.connection());
              return request;
            });
    int port = serve(new Lines(), say).port();
    try (Peer peer = new Peer(port);
        Client client = Client.of("127.0.0.1:" + port)) {
      peer.write("/"); // which is not enough to tell
      peer.write("one\n/two\n");
      assertEquals("/one", peer.read());
      assertEquals("/two", peer.read());
      assertEquals("native", client.call(Texts.SAY, "native"));
      Connection connection = seen.remove();
      assertSame(connection, seen.remove());
      assertEquals("lines", connection.protocol());
      assertEquals("trunk", seen.remove().protocol());
      assertEquals("127.0.0.1:" + peer.socket.getLocalPort(), connection.remote());
      assertEquals(2, server.connections().size());
      assertEquals(2, Pair.await(server.gauges()).connections());
      assertEquals(0, Pair.await(connection.gauges()).callsServed());
      assertEquals(
          Code.UNIMPLEMENTED, Pair.failure(() -> connection.call(Texts.SAY, "back")).code());
    }
    Pair.until(() -> server.connections().isEmpty(), "they are still there");
  }

  @Test
  void aServerMaySpeakFirstWhereTlsHasNegotiatedItsProtocol(@TempDir Path folder) throws Exception {
    X509Bundle own =
        new CertificateBuilder()
            .subject("CN=localhost")
            .addSanDnsName("localhost")
            .setIsCertificateAuthority(true)
            .buildSelfSigned();
    Path certificate = Files.writeString(folder.resolve("a.pem"), own.getCertificatePathPEM());
    Path key = Files.writeString(folder.resolve("a.key"), own.getPrivateKeyPEM());
    PortProtocol greeting =
        new Lines() {
          @Override
          public List<String> alpn() {
            return List.of("lines/1");
          }

          @Override
          public void serve(PortConnection connection) throws Exception {
            connection.output().write("welcome\n".getBytes(StandardCharsets.UTF_8));
            super.serve(connection);
          }
        };
    server =
        Server.builder()
            .protocol(greeting)
            .serve(Handler.unary(Texts.SAY, (request, call) -> request + (call.tls() != null)))
            .tls(Tls.of(certificate, key))
            .listen("127.0.0.1:0")
            .build()
            .start();
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(null, own.toTrustManagerFactory().getTrustManagers(), null);
    SSLSocket socket =
        (SSLSocket) context.getSocketFactory().createSocket("127.0.0.1", server.port());
    SSLParameters parameters = socket.getSSLParameters();
    parameters.setApplicationProtocols(new String[] {"lines/1"});
    socket.setSSLParameters(parameters);
    try (Peer peer = new Peer(socket)) {
      assertEquals("welcome", peer.read());
      assertEquals("lines/1", socket.getApplicationProtocol());
      peer.write("any first byte\n");
      assertEquals("any first bytetrue", peer.read());
    }
  }

  @Test
  void aPeerThatSendsNoMoreIsAnsweredAndThenClosed() throws Exception {
    int port = serve(new Lines(), echo()).port();
    try (Peer peer = new Peer(port)) {
      peer.write("/last\n");
      peer.socket.shutdownOutput();
      assertEquals("/last by 127.0.0.1:" + peer.socket.getLocalPort(), peer.read());
      assertNull(peer.read());
    }
  }

  @Test
  void longLinesGoBothWays() throws Exception {
    int port = serve(new Lines(), Handler.unary(Texts.SAY, (request, call) -> request)).port();
    String line = "/" + "x".repeat(1_000_000);
    try (Peer peer = new Peer(port)) {
      peer.write(line + "\n");
      assertEquals(line, peer.read());
    }
  }

  @Test
  void stoppingLetsAConnectionAnswerWhatItHasBegun() throws Exception {
    CompletableFuture<String> answer = new CompletableFuture<>();
    CompletableFuture<Void> began = new CompletableFuture<>();
    Handler say =
        Handler.unary(
            Texts.SAY,
            (request, call) -> {
              began.complete(null);
              return answer.get();
            });
    int port = serve(new Lines(), say).port();
    try (Peer peer = new Peer(port)) {
      peer.write("/one\n");
      Pair.await(began);
      CompletableFuture<Boolean> stopped =
          CompletableFuture.supplyAsync(() -> server.stop(Duration.ofSeconds(60)));
      Pair.await(server.stopping());
      answer.complete("answered");
      assertEquals("answered", peer.read());
      assertNull(peer.read());
      assertTrue(Pair.await(stopped));
    }
  }

  @Test
  void aConnectionThatEndsCancelsItsCallsAndEndsItsThread() throws Exception {
    CompletableFuture<Void> began = new CompletableFuture<>();
    CompletableFuture<Void> cancelled = new CompletableFuture<>();
    CompletableFuture<Void> left = new CompletableFuture<>();
    Lines lines =
        new Lines() {
          @Override
          public void serve(PortConnection connection) throws Exception {
            try {
              super.serve(connection);
            } finally {
              left.complete(null);
            }
          }
        };
    Handler say =
        Handler.unary(
            Texts.SAY,
            (request, call) -> {
              call.onCancel(() -> cancelled.complete(null));
              began.complete(null);
              return new CompletableFuture<String>().get();
            });
    int port = serve(lines, say).port();
    Peer peer = new Peer(port);
    peer.write("/one\n");
    Pair.await(began);
    peer.socket.setSoLinger(true, 0); // a reset
    peer.close();
    Pair.await(cancelled);
    Pair.await(left);
  }

  @Test
  void aProtocolThatThrowsHarmsItsConnectionAlone() throws Exception {
    Lines lines =
        new Lines() {
          @Override
          public void serve(PortConnection connection) {
            throw new AssertionError("a mistake");
          }
        };
    int port = serve(lines, echo()).port();
    try (Peer peer = new Peer(port);
        Client client = Client.of("127.0.0.1:" + port)) {
      peer.write("/one\n");
      assertNull(peer.read());
      assertTrue(client.call(Texts.SAY, "a").startsWith("a by"));
    }
  }

  @Test
  void aProtocolThatNeedsMoreBytesKeepsThoseBehindItWaiting() throws Exception {
    CompletableFuture<Void> asked = new CompletableFuture<>();
    Lines first =
        new Lines() {
          @Override
          public Recognition recognize(byte[] bytes) {
            if (bytes.length == 1) {
              asked.complete(null);
            }
            return super.recognize(bytes);
          }
        };
    server =
        Server.builder()
            .protocol(first, named("greedy", "", '/'))
            .serve(Handler.unary(Texts.SAY, (request, call) -> call.connection().protocol()))
            .listen("127.0.0.1:0")
            .build();
    server.start();
    try (Peer peer = new Peer(server.port())) {
      peer.write("/");
      Pair.await(asked);
      peer.write("one\n");
      assertEquals("lines", peer.read());
    }
  }

  // Mistakes.

  private static void assertWrong(String told, Protocol... protocols) {
    IllegalArgumentException why =
        assertThrows(
            IllegalArgumentException.class, () -> Server.builder().protocol(protocols).build());
    assertEquals("option protocol: " + told, why.getMessage());
  }

  private static Protocol named(String name, String alpn, char begins) {
    return new Lines() {
      @Override
      public String name() {
        return name;
      }

      @Override
      public List<String> alpn() {
        return alpn.isEmpty() ? List.of() : List.of(alpn);
      }

      @Override
      public Recognition recognize(byte[] first) {
        return first[0] == (byte) begins ? Recognition.YES : Recognition.NO;
      }
    };
  }

  @Test
  void protocolsThatCouldNotBeReachedOrTakeOthersAreRefused() {
    assertWrong("the name \"\" is empty or taken", named("", "", '/'));
    assertWrong("the name \"grpc\" is empty or taken", named("grpc", "", '/'));
    assertWrong("the name \"a\" is empty or taken", named("a", "", '/'), named("a", "", '{'));
    assertWrong("a: the ALPN name \"h2\" is empty, too long or taken", named("a", "h2", '/'));
    assertWrong(
        "a: it takes for its own what Trunkcall's own protocol begins with",
        named("a", "", (char) 0xF5));
    assertWrong("a: it takes for its own what TLS begins with", named("a", "", (char) 0x16));
    assertWrong("a: it takes for its own what HTTP/2 begins with", named("a", "", 'P'));
  }
}
