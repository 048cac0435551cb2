package io.trunkcall;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.trunkcall.codefirst.CallPolicy;
import io.trunkcall.codefirst.CodeFirst;
import io.trunkcall.codefirst.RemoteClient;
import io.trunkcall.codefirst.RemoteMethod;
import io.trunkcall.codefirst.RemoteService;
import io.trunkcall.codefirst.ValueCodecs;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What the messages of a call travel in. */
class CodecTest {
  private static final Codec<String> VALUE = ValueCodecs.messagePack(String.class);
  private static final Method<String, String> WHICH =
      Method.unary("/test.Codecs/Which", VALUE, VALUE);
  private static final Method<String, String> EACH =
      Method.serverStream("/test.Codecs/Each", VALUE, VALUE);
  private static final Method<String, Void> TOLD = Method.oneWay("/test.Codecs/Told", VALUE);
  private static final CallOptions IN_JSON = CallOptions.NONE.withCodec(Codec.JSON);

  private static Pair pair() throws Exception {
    return new Pair(
        Handler.unary(WHICH, (request, call) -> request + call.codec()),
        Handler.serverStream(EACH, (request, answers, call) -> answers.send("" + call.codec())));
  }

  @Test
  void aCallChoosesItsCodec() throws Exception {
    try (Pair pair = pair()) {
      for (int round = 0; round < 3; round++) { // also once the method's name is known
        assertEquals("a3", pair.client.call(WHICH, "a"));
        assertEquals("a2", pair.client.call(WHICH, "a", IN_JSON));
      }
      try (ClientStream<String, String> answers = pair.client.stream(EACH, "a", IN_JSON)) {
        assertEquals(List.of("2"), List.of(answers.receive()));
      }
    }
  }

  @Test
  void aOneWayCallChoosesItToo() throws Exception {
    java.util.concurrent.CompletableFuture<Integer> codec =
        new java.util.concurrent.CompletableFuture<>();
    try (Pair pair =
        new Pair(Handler.oneWay(TOLD, (request, call) -> codec.complete(call.codec())))) {
      pair.client.send(TOLD, "a", IN_JSON);
      assertEquals(Codec.JSON, Pair.await(codec));
    }
  }

  @Test
  void aCodecThatMessagesHaveNoFormInIsRefusedWhereItIsGiven() throws Exception {
    try (Pair pair = pair()) {
      CallOptions wrong = CallOptions.NONE.withCodec(Codec.PROTOBUF);
      String told =
          assertThrows(IllegalArgumentException.class, () -> pair.client.call(WHICH, "a", wrong))
              .getMessage();
      assertEquals(
          "/test.Codecs/Which: its messages have no form in codec 1, only in msgpack and json",
          told);
      assertThrows(IllegalArgumentException.class, () -> pair.client.stream(EACH, "a", wrong));
    }
    assertThrows(IllegalArgumentException.class, () -> CallOptions.NONE.withCodec(16));
    assertThrows(IllegalArgumentException.class, () -> CallOptions.NONE.withCodec(-1));
  }

  /** Says which codec its calls come in. */
  @RemoteService("which")
  static class Which {
    @RemoteMethod
    public int codec() {
      return ServerCall.current().codec();
    }
  }

  @RemoteClient(service = "which")
  interface WhichClient {
    int codec();

    @RemoteMethod("codec")
    int codecOf(CallOptions options);

    @RemoteMethod("codec")
    @CallPolicy(codec = CallPolicy.CarriedAs.JSON)
    int codecInJson();
  }

  @Test
  void anAnnotatedClientChoosesItPerMethodAndPerCall() throws Exception {
    Handler[] handlers = CodeFirst.handlers(new Which()).toArray(Handler[]::new);
    try (Pair pair = new Pair(handlers)) {
      WhichClient client = CodeFirst.client(WhichClient.class, pair.client);
      assertEquals(Codec.MESSAGE_PACK, client.codec());
      assertEquals(Codec.JSON, client.codecInJson());
      assertEquals(Codec.JSON, client.codecOf(IN_JSON));
      assertEquals(Codec.MESSAGE_PACK, client.codecOf(CallOptions.NONE));
    }
  }

  /** Texts, as if they were messages of Cap'n Proto. */
  private static final class Capnp implements Codec<String> {
    @Override
    public int number() {
      return CAPNP;
    }

    @Override
    public String name() {
      return "capnp";
    }

    @Override
    public void encode(String message, Output out) {
      Texts.CODEC.encode(message, out);
    }

    @Override
    public String decode(byte[] array, int offset, int length) {
      return Texts.CODEC.decode(array, offset, length);
    }
  }

  @Test
  void aProgramBringsItsCodecOfCapnProto() throws Exception {
    Codec<String> capnp = new Capnp();
    Method<String, String> method = Method.unary("/test.Codecs/Capnp", capnp, capnp);
    Handler echo = Handler.unary(method, (request, call) -> request + call.codec());
    try (Pair pair =
        new Pair(server -> server.codec(capnp).serve(echo), client -> client.codec(capnp))) {
      assertEquals("a4", pair.client.call(method, "a"));
    }
    try (Pair pair = new Pair(server -> server.serve(echo), client -> client.codec(capnp))) {
      StatusException refused = Pair.failure(() -> pair.client.call(method, "a"));
      assertEquals(Code.UNIMPLEMENTED, refused.code());
    }
  }
}
