package io.trunkcall;

import static io.trunkcall.Pair.await;
import static io.trunkcall.Pair.failure;
import static io.trunkcall.Pair.until;
import static io.trunkcall.Texts.SAY;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.pkitesting.CertificateBuilder;
import io.netty.pkitesting.X509Bundle;
import io.trunkcall.internal.transport.Turning;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Calls that come one at a time over each kind of transport, and where servers and many clients
 * share loops.
 */
@Timeout(120)
class LoneTransportsTest {
  private static final long SHORT = Served.shortNanos;

  private final CountDownLatch go = new CountDownLatch(1);
  private final AtomicInteger notes = new AtomicInteger();
  private final List<Client> clients = new ArrayList<>();
  private Server server;

  @BeforeAll
  static void bePatient() {
    Turning.patient(true);
    Served.shortNanos = Long.MAX_VALUE - 1;
  }

  @AfterAll
  static void beAsBefore() {
    Turning.patient(false);
    Served.shortNanos = SHORT;
  }

  @AfterEach
  void end() {
    go.countDown();
    clients.forEach(Client::close);
    if (server != null) {
      server.close();
    }
  }

  private String say(String request, ServerCall call) throws Exception {
    if (request.equals("wait")) {
      go.await();
    }
    if (request.equals("call")) {
      for (Client each : clients) { // one at least is on the loop that this is run by
        assertEquals("inside!", each.call(SAY, "inside"));
      }
    }
    return request + "!";
  }

  private void serve(String where) throws Exception {
    serve(Server.builder().listen(where));
  }

  private void serve(ServerBuilder builder) throws Exception {
    Handler notes = Handler.oneWay(Texts.NOTE, (note, call) -> this.notes.incrementAndGet());
    server = builder.serve(Handler.unary(SAY, this::say), notes).build().start();
  }

  private Client client(ClientBuilder builder) {
    Client made = builder.build();
    clients.add(made);
    return made;
  }

  private Client client() {
    return client(Client.builder("127.0.0.1:" + server.port()));
  }

  private static void calls(Client client, int count) {
    for (int i = 0; i < count; i++) {
      assertEquals("Ada!", client.call(SAY, "Ada"));
    }
  }

  /** Calls until the caller turns the loop by himself. */
  private static void untilLed(Client client) {
    long before = Turning.leads();
    until(
        () -> {
          calls(client, 1);
          return Turning.leads() > before + 100;
        },
        "no call was made by its caller alone");
    calls(client, 300);
  }

  @Test
  void overTls(@TempDir Path directory) throws Exception {
    X509Bundle own =
        new CertificateBuilder()
            .subject("CN=127.0.0.1")
            .addSanIpAddress("127.0.0.1")
            .setIsCertificateAuthority(true)
            .buildSelfSigned();
    Path certificate = directory.resolve("certificate.pem");
    Path key = directory.resolve("key.pem");
    Files.writeString(certificate, own.getCertificatePEM());
    Files.writeString(key, own.getPrivateKeyPEM());
    serve(Server.builder().tls(Tls.of(certificate, key)).listen("127.0.0.1:0"));
    untilLed(client(Client.builder("127.0.0.1:" + server.port()).tls(Tls.trusting(certificate))));
  }

  @Test
  void overUnixSockets(@TempDir Path directory) throws Exception {
    String address = "unix:" + directory.resolve("socket");
    serve(address);
    untilLed(client(Client.builder(address)));
  }

  @Test
  void overWebSockets() throws Exception {
    serve("127.0.0.1:0");
    untilLed(client(Client.builder("ws://127.0.0.1:" + server.port() + "/")));
  }

  /** A channel in memory needs nobody to wait for it: its loop is left to its own thread. */
  @Test
  void inMemory() throws Exception {
    serve("mem:lone-transports-test");
    calls(client(Client.builder("mem:lone-transports-test")), 3_000);
  }

  /** The JDK's selectors would take an interrupt away. */
  @Test
  void overChannelsOfTheUser() throws Exception {
    serve("127.0.0.1:0");
    InetSocketAddress address = new InetSocketAddress("127.0.0.1", server.port());
    Client dialing =
        client(
            Client.builder("127.0.0.1:" + server.port())
                .dialer(
                    (where, endpoint) ->
                        CompletableFuture.supplyAsync(
                            () -> {
                              try {
                                return SocketChannel.open(address);
                              } catch (IOException e) {
                                throw new UncheckedIOException(e);
                              }
                            })));
    calls(dialing, 3_000);
    CompletableFuture<Code> ended = new CompletableFuture<>();
    Thread caller =
        new Thread(() -> ended.complete(failure(() -> dialing.call(SAY, "wait")).code()));
    caller.start();
    until(() -> server.running() == 1, "the handler does not run");
    caller.interrupt();
    assertEquals(Code.CANCELLED, await(ended));
  }

  @Test
  void oneWayCalls() throws Exception {
    serve("127.0.0.1:0");
    Client client = client();
    int count = 3_000;
    for (int i = 0; i < count; i++) {
      client.send(Texts.NOTE, "note");
    }
    until(() -> notes.get() == count, "not all have come");
  }

  @Test
  void aHandlerCallsItsOwnServerOverItsOwnLoop() throws Exception {
    serve("127.0.0.1:0");
    for (int i = 0; i < 2 * Runtime.getRuntime().availableProcessors(); i++) {
      client();
    }
    Client client = client();
    for (int round = 0; round < 20; round++) {
      calls(client, 100);
      assertEquals("call!", client.call(SAY, "call"));
    }
  }

  @Test
  void clientsThatShareALoop() throws Exception {
    serve("127.0.0.1:0");
    List<CompletableFuture<Void>> all = new ArrayList<>();
    for (int i = 0; i < 3 * Runtime.getRuntime().availableProcessors(); i++) {
      Client client = client();
      CompletableFuture<Void> done = new CompletableFuture<>();
      all.add(done);
      Thread caller =
          new Thread(
              () -> {
                try {
                  calls(client, 2_000);
                  done.complete(null);
                } catch (Throwable e) {
                  done.completeExceptionally(e);
                }
              });
      caller.setDaemon(true);
      caller.start();
    }
    all.forEach(Pair::await);
  }

  @Test
  void aServerThatDrainsIsNoticed() throws Exception {
    serve("127.0.0.1:0");
    Client client = client();
    untilLed(client);
    Thread caller =
        new Thread(
            () -> {
              while (true) {
                calls(client, 1);
              }
            });
    CompletableFuture<Throwable> ended = new CompletableFuture<>();
    caller.setUncaughtExceptionHandler((thread, thrown) -> ended.complete(thrown));
    caller.start();
    assertTrue(server.stop(Pair.PATIENCE));
    StatusException thrown = (StatusException) await(ended);
    assertEquals(Code.UNAVAILABLE, thrown.code());
    assertEquals(Delivery.NOT_SENT, thrown.status().delivery());
  }

  @Test
  void anErrorOfACodecEndsItsCallAlone() throws Exception {
    serve("127.0.0.1:0");
    Client client = client();
    Codec<String> broken =
        Texts.decoding(
            text -> {
              throw new StackOverflowError();
            });
    Method<String, String> method = Method.unary(SAY.name(), Texts.CODEC, broken);
    untilLed(client);
    for (int i = 0; i < 100; i++) {
      assertEquals(Code.INTERNAL, failure(() -> client.call(method, "Ada")).code());
      calls(client, 1);
    }
  }

  @Test
  void aCallWithADeadlineThatHasPassedIsNotMade() throws Exception {
    serve("127.0.0.1:0");
    Client client = client();
    untilLed(client);
    CallOptions late = CallOptions.NONE.withTimeout(Duration.ZERO);
    StatusException thrown = failure(() -> client.call(SAY, "Ada", late));
    assertEquals(Code.DEADLINE_EXCEEDED, thrown.code());
    assertEquals(Delivery.NOT_SENT, thrown.status().delivery());
    calls(client, 1);
  }
}
