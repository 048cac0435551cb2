package io.trunkcall.registry;

import static org.junit.jupiter.api.Assertions.assertFalse;

import com.google.protobuf.ByteString;
import com.trunkcall.registry.v1.PublishAnswer;
import com.trunkcall.registry.v1.WatchAnswer;
import io.trunkcall.Client;
import io.trunkcall.Handler;
import io.trunkcall.Server;
import java.util.concurrent.CountDownLatch;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Registries that answer against the rules. */
@Timeout(120)
final class HostileRegistryTest {
  private static final WatchAnswer.Kind ALL = WatchAnswer.Kind.KIND_ALL;
  private static final WatchAnswer.Kind CHANGE = WatchAnswer.Kind.KIND_CHANGE;

  private final Instances instances = new Instances();
  private final CountDownLatch over = new CountDownLatch(1);

  @AfterEach
  void close() throws Exception {
    over.countDown();
    instances.close();
  }

  private Store serve(Stream<WatchAnswer> answers) throws Exception {
    Server server =
        instances.closing(
            Server.builder()
                .serve(
                    Handler.serverStream(
                        Embedded.WATCH,
                        (request, to, call) -> {
                          boolean open = true;
                          for (WatchAnswer one : (Iterable<WatchAnswer>) answers::iterator) {
                            open = open && to.send(one);
                          }
                          over.await();
                        }),
                    Handler.bidiStream(
                        Embedded.PUBLISH,
                        (requests, to, call) ->
                            to.send(PublishAnswer.newBuilder().setLeaseMs(1).build())))
                .build());
    return new Embedded(server.listen("127.0.0.1:0"));
  }

  private static WatchAnswer.Builder of(WatchAnswer.Kind kind) {
    return WatchAnswer.newBuilder().setKind(kind);
  }

  private static com.trunkcall.registry.v1.Entry entry(String id, int size) {
    return com.trunkcall.registry.v1.Entry.newBuilder()
        .setId(id)
        .setRecord(ByteString.copyFrom(new byte[size]))
        .build();
  }

  private static Stream<WatchAnswer> many(WatchAnswer.Kind kind) {
    return IntStream.range(0, 101)
        .mapToObj(
            part -> {
              WatchAnswer.Builder one = of(kind).setMore(true);
              IntStream.range(0, 1_000)
                  .forEach(i -> one.addCame(entry("n" + (1_000 * part + i), 2)));
              return one.build();
            });
  }

  static Stream<Arguments> answers() {
    return Stream.of(
        Arguments.of("of kind 7", Stream.of(WatchAnswer.newBuilder().setKindValue(7).build())),
        Arguments.of("a change ahead", Stream.of(of(CHANGE).build())),
        Arguments.of(
            "a change between", Stream.of(of(ALL).setMore(true).build(), of(CHANGE).build())),
        Arguments.of("a record of 16385", Stream.of(of(ALL).addCame(entry("a", 16_385)).build())),
        Arguments.of("an id of 3 bytes", Stream.of(of(ALL).addCame(entry("a/b", 1)).build())),
        Arguments.of(
            "at most 100000 of 67108864", Stream.concat(Stream.of(of(ALL).build()), many(CHANGE))),
        Arguments.of("101000 entries of 202000 bytes", many(ALL)));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("answers")
  void isAFailureWhoseReasonIsTold(String words, Stream<WatchAnswer> answers) throws Exception {
    Client client = instances.find(serve(answers));
    while (!Instances.failure(client).status().message().contains(words)) {
      Thread.sleep(1); // until the test's time is over
    }
  }

  @Test
  void aLeaseOutOfBoundsIsAFailure() throws Exception {
    Registrar registrar = Registrar.of(serve(Stream.of()));
    Server server = instances.server("x", registrar);
    try (Logged log = new Logged()) {
      server.listen("127.0.0.1:0");
      log.await("a lease of 1 ms: want 1000 to 3600000");
    }
    assertFalse(registrar.published().isDone());
  }
}
