package io.trunkcall;

import static io.trunkcall.Pair.await;
import static io.trunkcall.Pair.failure;
import static io.trunkcall.Texts.JOIN;
import static io.trunkcall.Texts.NOTE;
import static io.trunkcall.Texts.OTHER;
import static io.trunkcall.Texts.SAY;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.StringValue;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

class UnaryTest {
  private static Handler echo() {
    return Handler.unary(SAY, (request, call) -> "hello " + request);
  }

  @Test
  void aCallIsAnswered() throws Exception {
    try (Pair pair = new Pair(echo())) {
      assertEquals("hello Ada", pair.client.call(SAY, "Ada"));
      assertEquals("hello Bob", pair.client.call(SAY, "Bob"));
    }
  }

  @Test
  void aFutureHasTheAnswer() throws Exception {
    try (Pair pair = new Pair(echo())) {
      assertEquals("hello Ada", await(pair.client.callAsync(SAY, "Ada")));
    }
  }

  @Test
  void messagesOfProtobufTravel() throws Exception {
    Codec<StringValue> codec = Codec.protobuf(StringValue.getDefaultInstance());
    Method<StringValue, StringValue> method = Method.unary("test.Texts/Proto", codec, codec);
    Handler serves =
        Handler.unary(method, (request, call) -> StringValue.of(request.getValue() + "!"));
    try (Pair pair = new Pair(serves)) {
      assertEquals("Ada!", pair.client.call(method, StringValue.of("Ada")).getValue());
      assertEquals("!", pair.client.call(method, StringValue.getDefaultInstance()).getValue());
    }
  }

  @Test
  void messagesOfProtobufTravelAsJson() throws Exception {
    Codec<StringValue> protobuf = Codec.protobuf(StringValue.getDefaultInstance());
    Codec<StringValue> json = Codec.json(StringValue.getDefaultInstance());
    Handler serves =
        Handler.unary(
            Method.unary("test.Texts/Proto", protobuf, protobuf),
            (request, call) -> StringValue.of(request.getValue() + call.codec()));
    try (Pair pair = new Pair(serves)) {
      Method<StringValue, StringValue> called = Method.unary("test.Texts/Proto", json, json);
      assertEquals("Ada2", pair.client.call(called, StringValue.of("Ada")).getValue());
    }
  }

  @Test
  void aHandlerMayAnswerLater() throws Exception {
    CompletableFuture<String> answer = new CompletableFuture<>();
    try (Pair pair = new Pair(Handler.unaryAsync(SAY, (request, call) -> answer))) {
      CompletableFuture<String> said = pair.client.callAsync(SAY, "Ada");
      answer.complete("later");
      assertEquals("later", await(said));
    }
  }

  @Test
  void aHandlerMayRunOnTheLoop() throws Exception {
    AtomicReference<String> thread = new AtomicReference<>("");
    Handler serves =
        Handler.unary(
                SAY,
                (request, call) -> {
                  thread.set(Thread.currentThread().getName());
                  return request;
                })
            .inline();
    try (Pair pair = new Pair(serves)) {
      assertEquals("Ada", pair.client.call(SAY, "Ada"));
      assertTrue(thread.get().startsWith("trunkcall-loop-"), thread.get());
    }
  }

  @Test
  void aBlockingCallOnTheLoopIsRefusedWithAdvice() throws Exception {
    Handler serves =
        Handler.unary(SAY, (request, call) -> call.connection().call(OTHER, request)).inline();
    AtomicReference<Throwable> thrown = new AtomicReference<>();
    ServerInterceptor sees =
        (call, next) ->
            next.proceed(call)
                .whenComplete((answer, error) -> thrown.set(CallFuture.unwrapped(error)));
    try (Pair pair = new Pair(s -> s.serve(serves).serverInterceptor(sees), c -> {})) {
      assertEquals(Code.UNKNOWN, failure(() -> pair.client.call(SAY, "Ada")).code());
      assertTrue(thrown.get() instanceof IllegalStateException, String.valueOf(thrown.get()));
      assertTrue(thrown.get().getMessage().contains("thenApplyAsync"));
    }
  }

  @Test
  void manyCallsAtOnceAreAnsweredEach() throws Exception {
    try (Pair pair = new Pair(echo())) {
      List<CompletableFuture<String>> all = new ArrayList<>();
      for (int i = 0; i < 5_000; i++) {
        all.add(pair.client.callAsync(SAY, "" + i));
        if (all.size() % 2_000 == 0) {
          await(all.get(all.size() - 1));
        }
      }
      for (int i = 0; i < all.size(); i++) {
        assertEquals("hello " + i, await(all.get(i)));
      }
    }
  }

  @Test
  void metadataTravelsBothWays() throws Exception {
    Handler serves =
        Handler.unary(
            SAY,
            (request, call) -> {
              call.setHeaders(Metadata.of("early", "1"));
              call.setTrailers(Metadata.of("late", "2"));
              return String.valueOf(call.metadata().get("who"));
            });
    try (Pair pair = new Pair(serves)) {
      CallOptions options = CallOptions.NONE.withMetadata(Metadata.of("who", "Ada"));
      Response<String> response = await(pair.client.unary(SAY, "", options));
      assertEquals("Ada", response.message());
      assertEquals("1", response.headers().get("early"));
      assertEquals("2", response.trailers().get("late"));
      assertEquals("127.0.0.1:" + pair.server.port(), response.peer());
    }
  }

  @Test
  void aStatusOfTheHandlerIsToldAsItIs() throws Exception {
    Status.Detail detail = new Status.Detail("type.googleapis.com/test.Detail", new byte[] {1, 2});
    Handler serves =
        Handler.unary(
            SAY,
            (request, call) -> {
              Status status = Status.of(Code.NOT_FOUND, "nobody").withDetails(List.of(detail));
              throw new StatusException(status, Metadata.of("why", "gone"));
            });
    try (Pair pair = new Pair(serves)) {
      StatusException failed = failure(() -> pair.client.call(SAY, "Ada"));
      assertEquals(Code.NOT_FOUND, failed.code());
      assertEquals("nobody", failed.status().message());
      assertEquals(Delivery.EXECUTED, failed.status().delivery());
      assertEquals(List.of(detail), failed.status().details());
      assertEquals("gone", failed.trailers().get("why"));
    }
  }

  @Test
  void ofAnErrorThatIsNoStatusTheCallerIsToldAnId() throws Exception {
    Handler serves =
        Handler.unary(
            SAY,
            (request, call) -> {
              throw new IllegalStateException("a secret");
            });
    try (Pair pair = new Pair(serves)) {
      StatusException failed = failure(() -> pair.client.call(SAY, "Ada"));
      assertEquals(Code.UNKNOWN, failed.code());
      assertEquals(Delivery.EXECUTED, failed.status().delivery());
      assertTrue(
          failed
              .status()
              .message()
              .matches("the handler failed \\(error [0-9a-f]{16} in the log of the server\\)"),
          failed.status().message());
    }
  }

  @Test
  void anErrorOfTheMachineIsInternal() throws Exception {
    Handler serves =
        Handler.unary(
            SAY,
            (request, call) -> {
              throw new AssertionError("a secret");
            });
    try (Pair pair = new Pair(serves)) {
      StatusException failed = failure(() -> pair.client.call(SAY, "Ada"));
      assertEquals(Code.INTERNAL, failed.code());
      assertTrue(failed.status().message().startsWith("the handler panicked (error "));
    }
  }

  @Test
  void aMethodThatIsNotServedIsRefused() throws Exception {
    try (Pair pair = new Pair(echo())) {
      StatusException failed = failure(() -> pair.client.call(OTHER, "Ada"));
      assertEquals(Code.UNIMPLEMENTED, failed.code());
      assertEquals(Delivery.REFUSED, failed.status().delivery());
    }
  }

  @Test
  void aRequestThatDoesNotDecodeIsRefused() throws Exception {
    try (Pair pair = new Pair(echo())) {
      StatusException failed = failure(() -> pair.client.call(SAY, "cannot be decoded"));
      assertEquals(Code.INVALID_ARGUMENT, failed.code());
      assertEquals(Delivery.REFUSED, failed.status().delivery());
    }
  }

  @Test
  void aRequestThatDoesNotEncodeIsNotSent() throws Exception {
    try (Pair pair = new Pair(echo())) {
      StatusException failed = failure(() -> pair.client.call(SAY, "cannot be encoded"));
      assertEquals(Code.INTERNAL, failed.code());
      assertEquals(Delivery.NOT_SENT, failed.status().delivery());
      assertTrue(failed.status().local());
    }
  }

  @Test
  void anAnswerThatDoesNotEncodeIsInternal() throws Exception {
    Handler serves = Handler.unary(SAY, (request, call) -> "cannot be encoded");
    try (Pair pair = new Pair(serves)) {
      StatusException failed = failure(() -> pair.client.call(SAY, "Ada"));
      assertEquals(Code.INTERNAL, failed.code());
      assertEquals(Delivery.EXECUTED, failed.status().delivery());
    }
  }

  @Test
  void anAnswerThatDoesNotDecodeIsInternal() throws Exception {
    Handler serves = Handler.unary(SAY, (request, call) -> "cannot be decoded");
    try (Pair pair = new Pair(serves)) {
      StatusException failed = failure(() -> pair.client.call(SAY, "Ada"));
      assertEquals(Code.INTERNAL, failed.code());
      assertEquals(Delivery.EXECUTED, failed.status().delivery());
      assertTrue(failed.status().local());
    }
  }

  @Test
  void aHandlerThatReturnsNullIsInternal() throws Exception {
    Handler serves = Handler.unary(SAY, (request, call) -> null);
    try (Pair pair = new Pair(serves)) {
      StatusException failed = failure(() -> pair.client.call(SAY, "Ada"));
      assertEquals(Code.INTERNAL, failed.code());
      assertTrue(failed.status().message().contains("returned null, want a message"));
    }
  }

  @Test
  void largeMessagesTravel() throws Exception {
    String large = "x".repeat(3_000_000);
    try (Pair pair = new Pair(echo())) {
      assertEquals("hello " + large, pair.client.call(SAY, large));
    }
  }

  @Test
  void aMessageAboveTheServersLimitIsNotSent() throws Exception {
    try (Pair pair =
        new Pair(s -> s.serve(echo()).limits(Limits.DEFAULTS.withMessageBytes(1_000)), c -> {})) {
      await(pair.client.connect());
      StatusException failed = failure(() -> pair.client.call(SAY, "x".repeat(100_000)));
      assertEquals(Code.RESOURCE_EXHAUSTED, failed.code());
      assertEquals(Delivery.NOT_SENT, failed.status().delivery());
      assertTrue(failed.status().message().contains("1000"), failed.status().message());
      assertEquals("hello Ada", pair.client.call(SAY, "Ada"));
    }
  }

  @Test
  void anAnswerAboveTheClientsLimitReplacesTheStatus() throws Exception {
    Handler serves = Handler.unary(SAY, (request, call) -> "x".repeat(100_000));
    try (Pair pair =
        new Pair(s -> s.serve(serves), c -> c.limits(Limits.DEFAULTS.withMessageBytes(1_000)))) {
      StatusException failed = failure(() -> pair.client.call(SAY, "Ada"));
      assertEquals(Code.RESOURCE_EXHAUSTED, failed.code());
      assertEquals(Delivery.EXECUTED, failed.status().delivery());
    }
  }

  @Test
  void malformedMetadataIsNotSent() throws Exception {
    try (Pair pair = new Pair(echo())) {
      CallOptions options = CallOptions.NONE.withMetadata(Metadata.of("Upper", "x"));
      StatusException failed = failure(() -> pair.client.call(SAY, "Ada", options));
      assertEquals(Code.INVALID_ARGUMENT, failed.code());
      assertEquals(Delivery.NOT_SENT, failed.status().delivery());
    }
  }

  @Test
  void aOneWayCallIsAcceptedBeforeItsHandlerIsDone() throws Exception {
    CompletableFuture<String> go = new CompletableFuture<>();
    CompletableFuture<String> noted = new CompletableFuture<>();
    Handler serves = Handler.oneWay(NOTE, (request, call) -> noted.complete(request + go.get()));
    try (Pair pair = new Pair(serves)) {
      pair.client.send(NOTE, "Ada");
      go.complete("!");
      assertEquals("Ada!", await(noted));
    }
  }

  @Test
  void aOneWayMethodIsSentAndAStreamOpened() throws Exception {
    try (Pair pair = new Pair(echo())) {
      assertThrows(IllegalArgumentException.class, () -> pair.client.call(NOTE, "Ada"));
      assertThrows(
          IllegalArgumentException.class,
          () -> pair.client.unary(Texts.TALK, "Ada", CallOptions.NONE));
      assertThrows(IllegalArgumentException.class, () -> pair.client.open(SAY, "Ada"));
    }
  }

  @Test
  void aServerCallsItsClient() throws Exception {
    Handler serves =
        Handler.unary(SAY, (request, call) -> call.connection().call(OTHER, request) + "!");
    Handler back = Handler.unary(OTHER, (request, call) -> "client's " + request);
    try (Pair pair = new Pair(s -> s.serve(serves), c -> c.serve(back))) {
      assertEquals("client's Ada!", pair.client.call(SAY, "Ada"));
      Connection connection = pair.server.connections().get(0);
      assertEquals("client's Bob", connection.call(OTHER, "Bob"));
    }
  }

  @Test
  void messagesAreCompressedBothWays() throws Exception {
    Counting counts = new Counting();
    String large = "x".repeat(100_000);
    try (Pair pair =
        new Pair(
            s -> s.serve(echo()), c -> c.compression(Compression.gzip()).attemptObserver(counts))) {
      await(pair.client.connect());
      assertEquals("hello " + large, pair.client.call(SAY, large));
      long received = await(counts.received);
      assertTrue(received < 10_000, () -> received + " bytes were received");
    }
  }

  private static final class Counting implements AttemptObserver {
    final CompletableFuture<Long> received = new CompletableFuture<>();

    @Override
    public void attemptBegan(CallAttempt attempt) {}

    @Override
    public void attemptEnded(CallAttempt attempt) {
      received.complete(attempt.received());
    }
  }

  @Test
  void aMethodIsServedOnce() {
    assertThrows(
        IllegalArgumentException.class, () -> Server.builder().serve(echo(), echo()).build());
  }

  @Test
  void optionsFailWhereTheyAreGiven() {
    assertThrows(
        IllegalArgumentException.class, () -> Client.builder("127.0.0.1:1").connections(0));
    assertThrows(IllegalArgumentException.class, () -> Client.of("no target"));
    assertThrows(
        IllegalArgumentException.class, () -> Method.unary("noslash", Texts.CODEC, Texts.CODEC));
    assertThrows(
        IllegalArgumentException.class,
        () -> Client.builder("127.0.0.1:1").timeout(java.time.Duration.ZERO));
  }

  @Test
  void withoutAServerCallsFailAndWereNotSent() {
    try (Client client = Client.of("127.0.0.1:1")) {
      StatusException failed = failure(() -> client.call(SAY, "Ada"));
      assertEquals(Code.UNAVAILABLE, failed.code());
      assertEquals(Delivery.NOT_SENT, failed.status().delivery());
      assertTrue(failed.status().message().contains("127.0.0.1:1"), failed.status().message());
    }
  }

  @Test
  void aClosedClientCallsNoMore() throws Exception {
    try (Pair pair = new Pair(echo())) {
      pair.client.call(SAY, "Ada");
      pair.client.close();
      StatusException failed = failure(() -> pair.client.call(SAY, "Ada"));
      assertEquals(Code.CANCELLED, failed.code());
      assertEquals(Delivery.NOT_SENT, failed.status().delivery());
    }
  }

  @Test
  void aFutureThatFailsHasTheStatusAsItsCause() throws Exception {
    try (Pair pair = new Pair(echo())) {
      ExecutionException thrown =
          assertThrows(ExecutionException.class, () -> pair.client.callAsync(OTHER, "Ada").get());
      assertTrue(thrown.getCause() instanceof StatusException);
    }
  }

  @Test
  void aRequestThatIsNullIsRefusedAsSuch() throws Exception {
    try (Pair pair = new Pair(Handler.unary(SAY, (request, call) -> request))) {
      StatusException failed =
          assertThrows(StatusException.class, () -> pair.client.call(SAY, nothing()));
      assertEquals("the request of " + SAY.name() + " is null", failed.status().message());
      assertEquals(Delivery.NOT_SENT, failed.status().delivery());
    }
  }

  @Test
  void aMessageOfAStreamThatIsNullIsRefusedAsSuch() throws Exception {
    try (Pair pair = new Pair(Handler.clientStream(JOIN, (requests, call) -> "joined"));
        ClientStream<String, String> stream = pair.client.open(JOIN)) {
      StatusException failed = failure(() -> stream.send(nothing()));
      assertEquals("the request is null", failed.status().message());
    }
  }

  @SuppressWarnings("NullAway") // it is what callers must not do
  private static String nothing() {
    return null;
  }
}
