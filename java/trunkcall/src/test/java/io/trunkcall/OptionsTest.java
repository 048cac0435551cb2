package io.trunkcall;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Options that cannot be are refused where they are given, by name. */
class OptionsTest {
  private static final Duration MINUS = Duration.ofSeconds(-1);

  private static Arguments server(String told, Consumer<ServerBuilder> gives) {
    return Arguments.of(told, (Runnable) () -> gives.accept(Server.builder()));
  }

  private static Arguments client(String told, Consumer<ClientBuilder> gives) {
    return Arguments.of(told, (Runnable) () -> gives.accept(Client.builder("localhost:1")));
  }

  private static Arguments limits(String told, Consumer<Limits> gives) {
    return Arguments.of(told, (Runnable) () -> gives.accept(Limits.DEFAULTS));
  }

  static Stream<Arguments> wrong() {
    return Stream.of(
        server("option maxConnections: 0 was given, want at least 1", s -> s.maxConnections(0)),
        server("option maxConnectionsPerAddress: -1", s -> s.maxConnectionsPerAddress(-1)),
        server("option maxConnectionAge: PT0S was given", s -> s.maxConnectionAge(Duration.ZERO)),
        server("option drainDelay: PT-1S was given", s -> s.drainDelay(MINUS)),
        server("option runningHandlers: 0 was given", s -> s.runningHandlers(0)),
        server("option waitingCalls: -1 was given", s -> s.waitingCalls(-1)),
        server("option memory: 1,000 was given, want at least 1,048,576", s -> s.memory(1_000)),
        server("option keepalive: PT-1S", s -> s.keepalive(MINUS, Duration.ofSeconds(1))),
        server("option keepaliveTimeout: PT-1S", s -> s.keepalive(Duration.ofSeconds(1), MINUS)),
        server(
            "option keepaliveTimeout: PT0S was given, want a time above 0",
            s -> s.keepalive(Duration.ofSeconds(1), Duration.ZERO).build()),
        server("option allowCleartext", s -> s.allowCleartext(true).build()),
        server("option tls: ", s -> s.tls(Tls.of(Path.of("/none"), Path.of("/none"))).build()),
        server("method /test.Texts/Say is registered already", s -> s.serve(say(), say()).build()),
        client("option connections: 0 was given, want at least 1", c -> c.connections(0)),
        client("option mostEndpoints: -1 was given", c -> c.mostEndpoints(-1)),
        client("option idleTimeout: PT-1S was given", c -> c.idleTimeout(MINUS)),
        client(
            "option timeout: PT0S was given, want a time above 0", c -> c.timeout(Duration.ZERO)),
        client("option serverName: \"a\" was given", c -> c.serverName("a").build()),
        client("option tls: ", c -> c.tls(Tls.trusting(Path.of("/none"))).build()),
        limits("option limits.frameBytes: 1 was given", l -> l.withFrameBytes(1)),
        limits("option limits.frameBytes: 16,777,216", l -> l.withFrameBytes(1 << 24)),
        limits("option limits.methods: 65,536 was given", l -> l.withMethods(1 << 16)),
        limits("option limits.pingInterval: PT-1S", l -> l.withPingInterval(MINUS)),
        limits(
            "option limits.pingInterval: PT1200H was given, want 49 days at most",
            l -> l.withPingInterval(Duration.ofDays(50))),
        limits(
            "option limits.metadataBytes: 32,768 was given, want 16,384 to 32,767",
            l -> l.withMetadata(1 << 15, 128)),
        limits(
            "option limits.messageBytes: 0 was given, want at least 1", l -> l.withMessageBytes(0)),
        limits("option limits.calls: 1,048,576 was given", l -> l.withCalls(1 << 20)),
        limits("option limits.metadataBytes: 1 was given", l -> l.withMetadata(1, 128)),
        limits("option limits.metadataEntries: 1 was given", l -> l.withMetadata(16_384, 1)),
        limits("option limits.window: 1 was given", l -> l.withWindow(1)),
        limits("option limits.pool: -1 was given", l -> l.withPool(-1, -1)),
        limits("option limits.maxPool: -2 was given", l -> l.withPool(0, -2)),
        Arguments.of("policy of all methods: the timeout is PT-1S", policy(MINUS)),
        Arguments.of("method name \"/x\": want /package.Service/Method", method("x")),
        Arguments.of("target \"\"", (Runnable) () -> Client.of("")),
        Arguments.of("target \"here\"", (Runnable) () -> Client.of("here")));
  }

  private static Handler say() {
    return Handler.unary(Texts.SAY, (request, call) -> request);
  }

  private static Runnable policy(Duration timeout) {
    return () -> Policy.forAll().timeout(timeout).build();
  }

  private static Runnable method(String name) {
    return () -> Method.unary(name, Texts.CODEC, Texts.CODEC);
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("wrong")
  void whatCannotBeIsRefusedByName(String told, Runnable gives) {
    String text = assertThrows(IllegalArgumentException.class, gives::run).getMessage();
    assertTrue(text.contains(told), text);
  }

  @Test
  void anAddressThatCannotBeListenedOnIsRefusedByName() {
    for (String address : List.of("127.0.0.1", "127.0.0.1:70000", "unix:")) {
      Server server = Server.builder().listen(address).build();
      String text = assertThrows(IllegalArgumentException.class, server::start).getMessage();
      assertTrue(text.contains(address), text);
      server.close();
    }
  }

  @Test
  void connectionsAreLimitedOverAllAddresses() throws IOException {
    Server server =
        Server.builder().listen("127.0.0.1:0").maxConnections(1).serve(say()).build().start();
    try (Client first = Client.of("127.0.0.1:" + server.port());
        Client second = Client.of(server.listen("127.0.0.1:0"))) {
      assertEquals("a", first.call(Texts.SAY, "a"));
      Status failed = Pair.failure(() -> second.call(Texts.SAY, "b")).status();
      assertEquals(Code.UNAVAILABLE, failed.code());
      assertTrue(failed.message().contains("its 1 connections"), failed.message());
      assertTrue(Pair.await(server.gauges()).rejectedConnections() > 0);
    } finally {
      server.close();
    }
  }

  @Test
  void methodsAreServedTogetherOrNotAtAll() {
    Handler say = Handler.unary(Texts.SAY, (request, call) -> request);
    Handler other = Handler.unary(Texts.OTHER, (request, call) -> request);
    try (Server server = Server.builder().serve(say).build();
        Client client = Client.builder("127.0.0.1:1").serve(say).build()) {
      assertThrows(IllegalArgumentException.class, () -> server.register(other, say));
      assertThrows(IllegalArgumentException.class, () -> server.register(other, other));
      assertEquals(List.of(Texts.SAY), server.methods());
      server.register(other);
      assertEquals(List.of(Texts.OTHER, Texts.SAY), server.methods());
      assertThrows(IllegalArgumentException.class, () -> client.register(other, say));
      assertEquals(List.of(Texts.SAY), client.methods());
    }
  }
}
