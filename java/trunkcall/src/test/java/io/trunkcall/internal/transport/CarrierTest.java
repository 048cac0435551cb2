package io.trunkcall.internal.transport;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollChannelOption;
import io.trunkcall.Code;
import io.trunkcall.Metadata;
import io.trunkcall.StatusException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class CarrierTest {
  @TempDir Path folder;

  private static byte[] bytes(int length) {
    byte[] made = new byte[length];
    for (int at = 0; at < length; at++) {
      made[at] = (byte) (at * 31);
    }
    return made;
  }

  /** A server and a client over one kind of transport. */
  private final class Pair implements AutoCloseable {
    final TestServer server;
    final TestClient client = new TestClient();
    final TestEnd near;
    final TestEnd far;

    Pair(String kind) throws Exception {
      boolean tls = kind.equals("tls") || kind.equals("wss");
      Loops loops = kind.equals("nio") || kind.equals("nio-unix") ? Loops.nio() : Loops.NATIVE;
      ListenOptions options = ListenOptions.plain();
      if (tls) {
        Certificates made = new Certificates(folder);
        Path cert = made.issue("server.pem", "localhost");
        options = options.tls(TlsSource.forServers(new TlsFiles(null, cert, null)), false);
        client.tls = TlsSource.forClients(new TlsFiles(made.ca, null, null));
      }
      if (kind.startsWith("ws")) {
        options = options.origins(List.of());
      }
      String where =
          switch (kind) {
            case "unix", "nio-unix" -> "unix:" + folder.resolve("socket");
            case "mem" -> "mem:CarrierTest";
            default -> "127.0.0.1:0";
          };
      client.loops = loops;
      client.serverName = tls ? "localhost" : "";
      server = new TestServer(loops, where, options);
      String address = server.listener.address();
      near = client.connect(kind.startsWith("ws") ? kind + "://" + address + "/path" : address);
      far = server.end();
      assertNotNull(far, "the server has no connection");
    }

    @Override
    public void close() {
      client.close();
      server.close();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"tcp", "nio", "unix", "nio-unix", "mem", "tls", "ws", "wss"})
  void callsAreAnsweredWhateverTheirSize(String kind) throws Exception {
    try (Pair pair = new Pair(kind)) {
      // To mask megabytes takes long where each access to a buffer is recorded (leak detection).
      int large = kind.startsWith("ws") ? 300_000 : 3_000_000;
      for (int size : new int[] {0, 1, 100, 60_000, 200_000, large}) {
        byte[] message = bytes(size);
        assertArrayEquals(message, Wait.result(pair.near.call(TestEnd.ECHO, message)));
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"tcp", "nio", "mem", "tls", "ws"})
  void theServerCallsItsClient(String kind) throws Exception {
    try (Pair pair = new Pair(kind)) {
      byte[] message = bytes(70_000);
      assertArrayEquals(message, Wait.result(pair.far.call(TestEnd.ECHO, message)));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"tcp", "mem", "tls"})
  void manyThreadsCallOverOneConnection(String kind) throws Exception {
    try (Pair pair = new Pair(kind)) {
      List<CompletableFuture<byte[]>> answers = Collections.synchronizedList(new ArrayList<>());
      List<Thread> threads = new ArrayList<>();
      for (int thread = 0; thread < 8; thread++) {
        Thread made =
            new Thread(
                () -> {
                  for (int call = 0; call < 100; call++) {
                    answers.add(pair.near.call(TestEnd.ECHO, bytes(100)));
                  }
                });
        threads.add(made);
        made.start();
      }
      for (Thread one : threads) {
        one.join();
      }
      assertEquals(800, answers.size());
      for (CompletableFuture<byte[]> one : answers) {
        assertArrayEquals(bytes(100), Wait.result(one));
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"tcp", "nio", "unix", "mem", "tls", "ws"})
  void aDrainedConnectionAnswersAndThenClosesInOrder(String kind) throws Exception {
    try (Pair pair = new Pair(kind)) {
      CompletableFuture<byte[]> answer = pair.near.call(TestEnd.HOLD, bytes(10));
      var held = Wait.result(pair.far.held);
      pair.far.carrier.submit(pair.far.carrier::drain);
      pair.far.carrier.submit(
          () -> {
            held.finish(bytes(5), 0, 5, 0, Metadata.EMPTY);
            pair.far.carrier.schedule();
          });
      assertArrayEquals(bytes(5), Wait.result(answer));
      assertEquals("closed", Wait.result(pair.near.disconnected));
      assertEquals("closed", Wait.result(pair.far.disconnected));
      assertEquals(null, pair.near.carrier.fault());
      assertEquals(null, pair.far.carrier.fault());
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"tcp", "mem", "tls", "ws"})
  void theEndOfAConnectionEndsItsCallsAndStopsItsHandlers(String kind) throws Exception {
    try (Pair pair = new Pair(kind)) {
      CompletableFuture<byte[]> answer = pair.near.call(TestEnd.HOLD, bytes(10));
      Wait.result(pair.far.held);
      pair.near.carrier.submit(() -> pair.near.carrier.abort("the test ends it"));
      StatusException failed = assertInstanceOf(StatusException.class, Wait.failure(answer));
      assertEquals(Code.UNAVAILABLE, failed.status().code());
      Wait.result(pair.far.stopped);
      assertEquals("the test ends it", Wait.result(pair.near.disconnected));
      Wait.result(pair.far.disconnected);
    }
  }

  @Test
  void workThatIsHandedOverIsDoneInOrderAndAlsoWhenTheConnectionIsLost() throws Exception {
    try (Pair pair = new Pair("tcp")) {
      Carrier carrier = pair.near.carrier;
      List<Integer> done = new ArrayList<>();
      CompletableFuture<Void> last = new CompletableFuture<>();
      for (int at = 0; at < 100; at++) {
        int number = at;
        carrier.submit(() -> done.add(number));
      }
      carrier.submit(
          () -> {
            // From the loop itself: later, not within this.
            carrier.submit(() -> last.complete(null));
            assertFalse(last.isDone());
          });
      Wait.result(last);
      for (int at = 0; at < 100; at++) {
        assertEquals(at, done.get(at));
      }
      carrier.submit(() -> carrier.abort("over"));
      Wait.result(pair.near.disconnected);
      CompletableFuture<Boolean> lost = new CompletableFuture<>();
      carrier.submit(() -> lost.complete(carrier.lost()));
      assertTrue(Wait.result(lost));
    }
  }

  @Test
  void theSystemEndsAConnectionWhosePeerAcknowledgesNothingWhereItCan() throws Exception {
    try (Pair pair = new Pair("tcp")) {
      for (TestEnd end : List.of(pair.near, pair.far)) {
        Integer set = end.carrier.channel().config().getOption(EpollChannelOption.TCP_USER_TIMEOUT);
        assertEquals(Epoll.isAvailable() ? 60_000 : null, set);
      }
    }
  }

  @Test
  void workThatThrowsHarmsNoOther() throws Exception {
    try (Pair pair = new Pair("tcp")) {
      pair.near.carrier.submit(
          () -> {
            throw new IllegalStateException("on purpose");
          });
      assertArrayEquals(bytes(3), Wait.result(pair.near.call(TestEnd.ECHO, bytes(3))));
    }
  }

  @Test
  void aClientWhoseServerResetsEndsItsCalls() throws Exception {
    try (ServerSocket listening = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        TestClient client = new TestClient()) {
      client.greeting = false;
      TestEnd near = client.connect("127.0.0.1:" + listening.getLocalPort());
      CompletableFuture<byte[]> answer = near.call(TestEnd.ECHO, bytes(10));
      try (Socket accepted = listening.accept()) {
        accepted.getInputStream().readNBytes(16);
        accepted.setSoLinger(true, 0);
      }
      StatusException failed = assertInstanceOf(StatusException.class, Wait.failure(answer));
      assertEquals(Code.UNAVAILABLE, failed.status().code());
      List<String> faults = List.of("Connection reset", "Broken pipe");
      assertTrue(faults.contains(Wait.result(near.disconnected)));
      assertNotNull(near.carrier.fault());
    }
  }

  @Test
  void aPeerThatReadsNothingHoldsBackWhatIsWritten() throws Exception {
    try (ServerSocket listening = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        TestClient client = new TestClient()) {
      client.greeting = false;
      TestEnd near = client.connect("127.0.0.1:" + listening.getLocalPort());
      try (Socket accepted = listening.accept()) {
        List<CompletableFuture<byte[]>> answers = new ArrayList<>();
        for (int call = 0; call < 500; call++) {
          answers.add(near.call(TestEnd.ECHO, bytes(60_000)));
        }
        CompletableFuture<Long> unsent = new CompletableFuture<>();
        near.carrier.submit(() -> unsent.complete(near.carrier.session().unsent()));
        assertTrue(Wait.result(unsent) > 1 << 20, "the session was told that all has left");
        // It reads on, and all of it comes.
        byte[] all = new byte[1 << 16];
        long read = 0;
        while (read < 500 * 60_016L) {
          read += accepted.getInputStream().read(all);
        }
        assertTrue(answers.stream().noneMatch(CompletableFuture::isDone));
      }
      near.carrier.submit(() -> near.carrier.abort("over"));
      Wait.result(near.disconnected);
    }
  }
}
