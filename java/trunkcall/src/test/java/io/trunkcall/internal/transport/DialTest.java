package io.trunkcall.internal.transport;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.util.concurrent.EventExecutor;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DialTest {
  private static final byte[] MESSAGE = {1, 2, 3};

  @TempDir Path folder;

  private static TestServer server() throws IOException {
    return new TestServer("127.0.0.1:0", ListenOptions.plain());
  }

  /** A port that nobody listens on. */
  private static int closedPort() throws IOException {
    try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return taken.getLocalPort();
    }
  }

  @Test
  void aFailureNamesEachAddressAndItsFault() throws Exception {
    String refused = "127.0.0.1:" + closedPort();
    String missing = "unix:" + folder.resolve("none");
    try (TestClient client = new TestClient()) {
      Throwable failed = Wait.failure(client.dial(refused, missing, "mem:nobody"));
      assertInstanceOf(DialException.class, failed);
      String text = failed.getMessage();
      assertTrue(text.contains(refused + ": Connection refused"), text);
      assertTrue(text.contains(missing + ": No such file or directory"), text);
      assertTrue(text.contains("mem:nobody: Connection refused"), text);
    }
  }

  @Test
  void aNameThatDoesNotResolveIsAFailedAddress() throws Exception {
    try (TestServer server = server();
        TestClient client = new TestClient()) {
      String nowhere = "a".repeat(64) + ":1"; // too long for a label: no server is asked
      Throwable failed = Wait.failure(client.dial(nowhere));
      assertTrue(failed.getMessage().contains("the name is not known"), failed.getMessage());
      TestEnd near = client.connect(nowhere, server.listener.address());
      assertArrayEquals(MESSAGE, Wait.result(near.call(TestEnd.ECHO, MESSAGE)));
    }
  }

  @Test
  void aNameIsReplacedByItsAddresses() throws Exception {
    try (TestServer server = server();
        TestClient client = new TestClient()) {
      TestEnd near = client.connect("localhost:" + server.listener.port());
      assertArrayEquals(MESSAGE, Wait.result(near.call(TestEnd.ECHO, MESSAGE)));
    }
  }

  @Test
  void aServerThatDoesNotGreetLosesToOneThatDoes() throws Exception {
    try (ServerSocket silent = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        TestServer server = server();
        TestClient client = new TestClient()) {
      String first = "127.0.0.1:" + silent.getLocalPort();
      TestEnd near = client.connect(first, server.listener.address());
      assertEquals(server.listener.address(), near.carrier.remote());
      try (Socket lost = silent.accept()) { // it got the preface, and was closed
        lost.setSoTimeout((int) Wait.PATIENCE * 1_000);
        lost.getInputStream().readNBytes(16);
        while (lost.getInputStream().read() >= 0) {
          // the rest of the preface
        }
      } catch (IOException reset) {
        // That is an end, too.
      }
    }
  }

  @Test
  void aServerThatGreetsWronglyIsToldWhy() throws Exception {
    byte[] wrong = HexFormat.of().parseHex("f5544b31010100000000040006000000080002000110");
    try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        TestClient client = new TestClient()) {
      CompletableFuture<Carrier> dialled = client.dial("127.0.0.1:" + server.getLocalPort());
      try (Socket met = server.accept()) {
        met.setSoTimeout((int) Wait.PATIENCE * 1_000);
        met.getOutputStream().write(wrong);
        byte[] heard = met.getInputStream().readAllBytes();
        String text = new String(heard, StandardCharsets.ISO_8859_1);
        assertTrue(text.contains("setting: "), text);
      }
      Wait.failure(dialled);
    }
  }

  @Test
  void aServerThatNeverSpeaksIsNamed() throws Exception {
    try (ServerSocket silent = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        TestClient client = new TestClient()) {
      client.alone = false; // 3 s
      Throwable failed = Wait.failure(client.dial("127.0.0.1:" + silent.getLocalPort()));
      assertTrue(failed.getMessage().contains("said nothing"), failed.getMessage());
    }
  }

  @Test
  void aUsersDialerOpensTheStreamAndTlsLiesAboveIt() throws Exception {
    Certificates made = new Certificates(folder);
    Path cert = made.issue("server.pem", "far.example");
    TlsSource tls = TlsSource.forServers(new TlsFiles(null, cert, null));
    ListenOptions options = ListenOptions.plain().tls(tls, false);
    try (TestServer server = new TestServer("127.0.0.1:0", options);
        TestClient client = new TestClient()) {
      List<String> asked = new ArrayList<>();
      client.loops = Loops.nio();
      client.tls = TlsSource.forClients(new TlsFiles(made.ca, null, null));
      client.open =
          address -> {
            asked.add(address);
            return opened(server.listener.port());
          };
      TestEnd near = client.connect("far.example:7");
      assertArrayEquals(MESSAGE, Wait.result(near.call(TestEnd.ECHO, MESSAGE)));
      assertEquals(List.of("far.example:7"), asked);
    }
  }

  private static CompletableFuture<SocketChannel> opened(int port) {
    try {
      InetSocketAddress where = new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
      return CompletableFuture.completedFuture(SocketChannel.open(where));
    } catch (IOException fault) {
      return CompletableFuture.failedFuture(fault);
    }
  }

  @Test
  void aUsersDialerThatFailsOrThrowsIsAFailedAttempt() throws Exception {
    try (TestClient client = new TestClient()) {
      client.loops = Loops.nio();
      client.open = address -> CompletableFuture.failedFuture(new IOException("no tunnel"));
      assertTrue(Wait.failure(client.dial("far:1")).getMessage().contains("no tunnel"));
      client.open =
          address -> {
            throw new IllegalStateException("on purpose");
          };
      assertTrue(Wait.failure(client.dial("far:1")).getMessage().contains("on purpose"));
      client.open = address -> CompletableFuture.completedFuture(null);
      assertTrue(Wait.failure(client.dial("far:1")).getMessage().contains("returned null"));
    }
  }

  @Test
  void whatAUsersDialerOpensTooLateIsClosed() throws Exception {
    try (TestServer server = server();
        TestClient client = new TestClient()) {
      CompletableFuture<SocketChannel> late = new CompletableFuture<>();
      CompletableFuture<Void> asked = new CompletableFuture<>();
      client.loops = Loops.nio();
      client.open =
          address -> {
            asked.complete(null);
            return late;
          };
      CompletableFuture<Carrier> dialled = client.dial("far:1");
      Wait.result(asked);
      dialled.cancel(false);
      for (EventExecutor loop : client.loops.group) {
        loop.submit(() -> {}).sync(); // behind what cancels the attempt
      }
      late.complete(opened(server.listener.port()).get());
      assertEquals("closed before anything was said", server.rejection());
    }
  }

  @Test
  void anAttemptThatIsGivenUpIsClosed() throws Exception {
    try (ServerSocket silent = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        TestClient client = new TestClient()) {
      CompletableFuture<Carrier> dialled = client.dial("127.0.0.1:" + silent.getLocalPort());
      try (Socket accepted = silent.accept()) {
        accepted.setSoTimeout((int) Wait.PATIENCE * 1_000);
        accepted.getInputStream().readNBytes(16);
        dialled.cancel(false);
        while (accepted.getInputStream().read() >= 0) {
          // the rest of the preface
        }
      } catch (IOException reset) {
        // That is an end, too.
      }
    }
  }
}
