package io.trunkcall;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.pkitesting.CertificateBuilder;
import io.netty.pkitesting.X509Bundle;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Protocols of a user's: on the server's port, and without any. */
@Timeout(120)
class ProtocolTest {
  /** The messages of a call, from queues. */
  private static final class Queues implements Exchange {
    final LinkedBlockingQueue<CompletableFuture<byte[]>> requests = new LinkedBlockingQueue<>();
    final LinkedBlockingQueue<String> answers = new LinkedBlockingQueue<>();
    volatile CompletableFuture<Void> takes = CompletableFuture.completedFuture(null);
    volatile Metadata headers = Metadata.EMPTY;

    static Queues of(String... requests) {
      Queues made = new Queues();
      for (String one : requests) {
        made.add(one);
      }
      made.requests.add(CompletableFuture.completedFuture(null));
      return made;
    }

    void add(String request) {
      add(request.getBytes(StandardCharsets.UTF_8));
    }

    void add(byte[] request) {
      requests.add(CompletableFuture.completedFuture(request));
    }

    @Override
    public CompletionStage<byte[]> receive() throws InterruptedException {
      return requests.take();
    }

    @Override
    public void sendHeaders(Metadata given) {
      headers = given;
    }

    @Override
    public CompletionStage<?> send(byte[] message) {
      answers.add(new String(message, StandardCharsets.UTF_8));
      return takes;
    }

    String answer() throws InterruptedException {
      return answers.poll(60, TimeUnit.SECONDS);
    }
  }

  /** One without a listener. */
  private static final class Broker implements Protocol {
    final AtomicInteger starts = new AtomicInteger();
    final CompletableFuture<Void> stopped = new CompletableFuture<>();
    volatile Supplier<Void> stopping = () -> null;
    volatile IncomingCalls calls;

    @Override
    public String name() {
      return "broker";
    }

    @Override
    public void start(IncomingCalls given) throws IOException {
      if (starts.incrementAndGet() == 1 && stopping == null) {
        throw new IOException("no broker");
      }
      calls = given;
    }

    @Override
    public void stop() {
      stopping.get();
      stopped.complete(null);
    }

    Ending serve(Method<?, ?> method, Exchange exchange) {
      return Pair.await(calls.serve(IncomingCall.of(method.name(), Codec.RAW), exchange));
    }
  }

  /** A line is a request of Say, and so is its answer. */
  private static class Lines implements PortProtocol {
    volatile IncomingCalls calls;

    @Override
    public String name() {
      return "lines";
    }

    @Override
    public void start(IncomingCalls given) {
      calls = given;
    }

    @Override
    public Recognition recognize(byte[] first) {
      if (first[0] != '/') {
        return Recognition.NO;
      }
      return first.length < 4 ? Recognition.MORE : Recognition.YES;
    }

    @Override
    public void serve(PortConnection connection) throws Exception {
      connection.ending().thenRun(connection::endInput);
      BufferedReader in =
          new BufferedReader(new InputStreamReader(connection.input(), StandardCharsets.UTF_8));
      for (String line = in.readLine(); line != null; line = in.readLine()) {
        Queues messages = Queues.of(line);
        IncomingCall call = IncomingCall.of(Texts.SAY.name(), Codec.RAW).withConnection(connection);
        Ending ending = calls.serve(call, messages).get();
        String told = ending.status().ok() ? messages.answer() : ending.status().toString();
        connection.output().write((told + "\n").getBytes(StandardCharsets.UTF_8));
      }
    }
  }

  private final Broker broker = new Broker();
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

  // Without a listener.

  @Test
  void callsOfABrokerAreServedLikeAllOthers() throws Exception {
    LinkedBlockingQueue<Arrival> arrivals = new LinkedBlockingQueue<>();
    server =
        Server.builder()
            .protocol(broker)
            .admission(
                arrival -> {
                  arrivals.add(arrival);
                  return Admitted.as("somebody");
                })
            .serve(
                Handler.unary(
                    Texts.SAY,
                    (request, call) -> {
                      call.setHeaders(Metadata.of("ahead", "1"));
                      call.setTrailers(Metadata.of("behind", "2"));
                      return request + " of " + call.principal() + " by " + call.peer();
                    }))
            .build()
            .start();
    assertSame(Texts.SAY, broker.calls.method(Texts.SAY.name()));
    assertNull(broker.calls.method("/test.Texts/None"));
    Queues messages = Queues.of("hello");
    IncomingCall call =
        IncomingCall.of(Texts.SAY.name(), Codec.RAW)
            .withMetadata(Metadata.of("from", "queue"))
            .withAuthority("example.com")
            .withPeer("mq:7")
            .withTimeout(Duration.ofMinutes(5));
    Ending ending = Pair.await(broker.calls.serve(call, messages));
    assertTrue(ending.status().ok());
    assertEquals("2", ending.trailers().get("behind"));
    assertEquals("1", messages.headers.get("ahead"));
    assertEquals("hello of somebody by mq:7", messages.answer());
    Arrival arrival = arrivals.remove();
    assertEquals("broker", arrival.protocol());
    assertEquals("example.com", arrival.authority());
    assertEquals("queue", arrival.metadata().get("from"));
    assertTrue(arrival.timeRemaining().toSeconds() > 60);
    assertEquals(List.of(), server.connections());
  }

  @Test
  void streamsGoBothWaysOneAfterTheOther() throws Exception {
    Handler talk =
        Handler.bidiStream(
            Texts.TALK,
            (requests, answers, call) -> {
              for (String one : requests) {
                answers.send(one + "!");
              }
            });
    serve(broker, talk);
    Queues messages = new Queues();
    CompletableFuture<Ending> ending =
        broker.calls.serve(IncomingCall.of(Texts.TALK.name(), Codec.RAW), messages);
    messages.add("a");
    assertEquals("a!", messages.answer());
    messages.add("b");
    assertEquals("b!", messages.answer());
    messages.requests.add(CompletableFuture.completedFuture(null));
    assertTrue(Pair.await(ending).status().ok());
  }

  @Test
  void theProtocolMayKeepTheArraysOfRequests() throws Exception {
    Handler join =
        Handler.clientStream(
            Texts.JOIN,
            (requests, call) -> {
              int length = 0;
              for (String one : requests) {
                length += one.length();
              }
              return "" + length;
            });
    serve(broker, join);
    byte[] request = new byte[200_000];
    Queues messages = new Queues();
    messages.add(request);
    messages.requests.add(CompletableFuture.completedFuture(null));
    assertTrue(broker.serve(Texts.JOIN, messages).status().ok());
    assertEquals("200000", messages.answer());
    assertFalse(Pair.isUsedAgain(request));
  }

  @Test
  void aSenderWaitsForThePlaceOfTheMessageBefore() throws Exception {
    AtomicInteger sent = new AtomicInteger();
    Handler count =
        Handler.serverStream(
            Texts.COUNT,
            (request, answers, call) -> {
              String piece = "x".repeat(40_000);
              for (int number = 0; number < 100; number++) {
                answers.send(piece);
                sent.incrementAndGet();
              }
            });
    serve(broker, count);
    Queues messages = Queues.of("go");
    CompletableFuture<Void> place = new CompletableFuture<>();
    messages.takes = place;
    CompletableFuture<Ending> ending =
        broker.calls.serve(IncomingCall.of(Texts.COUNT.name(), Codec.RAW), messages);
    assertEquals(40_000, messages.answer().length());
    assertTrue(sent.get() < 50, "what is sent is not bounded: " + sent.get());
    assertFalse(ending.isDone());
    messages.takes = CompletableFuture.completedFuture(null);
    place.complete(null);
    assertTrue(Pair.await(ending).status().ok());
    assertEquals(99, messages.answers.size());
  }

  @Test
  void whatCannotBeServedIsRefused() throws Exception {
    server =
        Server.builder()
            .protocol(broker)
            .limits(Limits.DEFAULTS.withMessageBytes(1_000))
            .serve(echo())
            .build()
            .start();
    assertRefused(Code.UNIMPLEMENTED, broker.serve(Texts.OTHER, Queues.of("a")));
    IncomingCall inJson = IncomingCall.of(Texts.SAY.name(), Codec.JSON);
    assertRefused(Code.UNIMPLEMENTED, Pair.await(broker.calls.serve(inJson, Queues.of("a"))));
    assertRefused(Code.UNIMPLEMENTED, broker.serve(Texts.SAY, Queues.of()));
    assertRefused(Code.UNIMPLEMENTED, broker.serve(Texts.SAY, Queues.of("a", "b")));
    assertRefused(Code.RESOURCE_EXHAUSTED, broker.serve(Texts.SAY, Queues.of("a".repeat(1_001))));
    Queues cut = new Queues();
    cut.requests.add(CompletableFuture.failedFuture(new IOException("gone")));
    assertRefused(Code.INVALID_ARGUMENT, broker.serve(Texts.SAY, cut));
    Queues own = new Queues();
    own.requests.add(
        CompletableFuture.failedFuture(new StatusException(Code.DATA_LOSS, "half a message")));
    assertRefused(Code.DATA_LOSS, broker.serve(Texts.SAY, own));
    IncomingCall late = IncomingCall.of(Texts.SAY.name(), Codec.RAW).withTimeout(Duration.ZERO);
    assertRefused(Code.DEADLINE_EXCEEDED, Pair.await(broker.calls.serve(late, new Queues())));
    assertEquals(8, Pair.await(server.gauges()).refused());
    assertEquals(0, Pair.await(server.gauges()).heldBytes());
  }

  private static void assertRefused(Code code, Ending ending) {
    assertEquals(code, ending.status().code(), ending.toString());
    assertEquals(Delivery.REFUSED, ending.status().delivery(), ending.toString());
  }

  @Test
  void anExecutorThatTakesNoMoreEndsCallsAsTheyAre() throws Exception {
    AtomicReference<Error> failure = new AtomicReference<>();
    AtomicBoolean refuses = new AtomicBoolean();
    Executor executor =
        task -> {
          if (failure.get() != null) {
            throw failure.get();
          } else if (refuses.get()) {
            throw new RejectedExecutionException("of the test");
          }
          new Thread(task).start();
        };
    Handler says =
        Handler.unary(
            Texts.SAY,
            (request, call) -> {
              refuses.set(true);
              return request;
            });
    server = Server.builder().protocol(broker).executor(executor).serve(says).build().start();
    Status behind = broker.serve(Texts.SAY, Queues.of("a")).status();
    assertEquals(Code.CANCELLED, behind.code(), "the answer could not be sent");
    assertRefused(Code.UNAVAILABLE, broker.serve(Texts.SAY, Queues.of("b")));
    failure.set(new OutOfMemoryError("of the test"));
    assertRefused(Code.UNAVAILABLE, broker.serve(Texts.SAY, Queues.of("c")));
  }

  @Test
  void aHandlerThatFailsIsExecuted() throws Exception {
    serve(
        broker,
        Handler.unary(
            Texts.SAY,
            (request, call) -> {
              throw new StatusException(Code.NOT_FOUND, "there is no " + request);
            }));
    Status status = broker.serve(Texts.SAY, Queues.of("a")).status();
    assertEquals(Code.NOT_FOUND, status.code());
    assertEquals(Delivery.EXECUTED, status.delivery());
  }

  @Test
  void aCallerThatIsGoneInterruptsTheHandler() throws Exception {
    CompletableFuture<Void> began = new CompletableFuture<>();
    CompletableFuture<Void> interrupted = new CompletableFuture<>();
    serve(
        broker,
        Handler.unary(
            Texts.SAY,
            (request, call) -> {
              began.complete(null);
              try {
                return new CompletableFuture<String>().get();
              } catch (InterruptedException e) {
                interrupted.complete(null);
                throw e;
              }
            }));
    CompletableFuture<Ending> ending =
        broker.calls.serve(IncomingCall.of(Texts.SAY.name(), Codec.RAW), Queues.of("a"));
    Pair.await(began);
    ending.cancel(true);
    Pair.await(interrupted);
    Pair.until(() -> Pair.await(server.gauges()).callsServed() == 0, "it is still served");
  }

  @Test
  void stoppingWaitsForTheProtocolAndItsCalls() throws Exception {
    CompletableFuture<String> answer = new CompletableFuture<>();
    CompletableFuture<Void> began = new CompletableFuture<>();
    serve(
        broker,
        Handler.unary(
            Texts.SAY,
            (request, call) -> {
              began.complete(null);
              return answer.get();
            }));
    CompletableFuture<Ending> ending =
        broker.calls.serve(IncomingCall.of(Texts.SAY.name(), Codec.RAW), Queues.of("a"));
    Pair.await(began);
    CompletableFuture<Boolean> stopped =
        CompletableFuture.supplyAsync(() -> server.stop(Duration.ofSeconds(60)));
    Pair.await(broker.stopped);
    assertRefused(Code.UNAVAILABLE, broker.serve(Texts.SAY, Queues.of("b")));
    assertFalse(stopped.isDone());
    answer.complete("late");
    assertTrue(Pair.await(ending).status().ok());
    assertTrue(Pair.await(stopped));
  }

  @Test
  void theEndOfTheGraceCutsOffCallsAndInterruptsWhoStops() throws Exception {
    CompletableFuture<Void> interrupted = new CompletableFuture<>();
    broker.stopping =
        () -> {
          try {
            new CompletableFuture<Void>().get();
          } catch (InterruptedException e) {
            interrupted.complete(null);
          } catch (java.util.concurrent.ExecutionException e) {
            throw new AssertionError(e);
          }
          return null;
        };
    CompletableFuture<Void> began = new CompletableFuture<>();
    serve(
        broker,
        Handler.unary(
            Texts.SAY,
            (request, call) -> {
              began.complete(null);
              return new CompletableFuture<String>().get();
            }));
    CompletableFuture<Ending> ending =
        broker.calls.serve(IncomingCall.of(Texts.SAY.name(), Codec.RAW), Queues.of("a"));
    Pair.await(began);
    assertFalse(server.stop(Duration.ZERO));
    assertEquals(Code.UNAVAILABLE, Pair.await(ending).status().code());
    Pair.await(interrupted);
  }

  @Test
  void callsWhoseAnswerIsNeverTakenEndWhenTheyAreCancelledOrTheGraceIsOver() throws Exception {
    serve(broker, echo());
    Queues[] messages = {Queues.of("a"), Queues.of("b")};
    List<CompletableFuture<Ending>> endings = new ArrayList<>();
    for (Queues one : messages) {
      one.takes = new CompletableFuture<>();
      endings.add(broker.calls.serve(IncomingCall.of(Texts.SAY.name(), Codec.RAW), one));
      one.answer();
    }
    endings.get(0).cancel(false);
    Pair.until(() -> Pair.await(server.gauges()).callsServed() == 1, "it is still served");
    assertFalse(server.stop(Duration.ZERO));
    assertEquals(Code.UNAVAILABLE, Pair.await(endings.get(1)).status().code());
  }

  @Test
  void aStartThatFailsIsTriedAgainWithTheNextListener() throws Exception {
    broker.stopping = null; // it fails once
    server = Server.builder().protocol(broker).serve(echo()).build();
    IOException why = assertThrows(IOException.class, () -> server.listen("127.0.0.1:0"));
    assertEquals("protocol broker: no broker", why.getMessage());
    broker.stopping = () -> null;
    server.listen("127.0.0.1:0");
    server.listen("127.0.0.1:0");
    assertEquals(2, broker.starts.get());
    assertTrue(broker.serve(Texts.SAY, Queues.of("a")).status().ok());
  }

  // On the port.

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
