package io.trunkcall;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** The memory of large messages of unary calls is used again once nobody needs it. */
class LargeMessagesTest {
  private static final String LARGE = "a".repeat(200_000);

  /** Texts, with the arrays that the last one lay in. */
  private static final class Seen implements Codec<String> {
    volatile byte[] encoded = {};
    volatile byte[] decoded = {};

    @Override
    public int number() {
      return Texts.CODEC.number();
    }

    @Override
    public String name() {
      return Texts.CODEC.name();
    }

    @Override
    public void encode(String message, Output out) {
      Texts.CODEC.encode(message, out);
      encoded = out.array();
    }

    @Override
    public String decode(byte[] array, int offset, int length) {
      decoded = array;
      return Texts.CODEC.decode(array, offset, length);
    }
  }

  private final Seen server = new Seen();
  private final Seen client = new Seen();
  private final Method<String, String> called = Method.unary(Texts.SAY.name(), client, client);

  /** Answers with so many letters as the request says; a large one with none. */
  private Handler answers() {
    Method<String, String> served = Method.unary(Texts.SAY.name(), server, server);
    return Handler.unary(
        served,
        (request, call) -> request.length() > 9 ? "" : "b".repeat(Integer.parseInt(request)));
  }

  @Test
  void thatOfARequestAtTheServer() throws Exception {
    try (Pair pair = new Pair(answers())) {
      assertEquals("", pair.client.call(called, LARGE));
      assertTrue(Pair.isUsedAgain(server.decoded));
    }
  }

  @Test
  void thatOfAnAnswerAtBothSides() throws Exception {
    try (Pair pair = new Pair(answers())) {
      assertEquals(200_000, pair.client.call(called, "200000").length());
      assertTrue(Pair.isUsedAgain(client.decoded));
      assertEquals(200_000, pair.client.call(called, "200000").length());
      assertTrue(Pair.isUsedAgain(server.encoded));
    }
  }

  /** A client may have to send it once more. */
  @Test
  void notThatOfARequestAtTheClient() throws Exception {
    try (Pair pair = new Pair(answers())) {
      assertEquals("", pair.client.call(called, LARGE));
      assertFalse(Pair.isUsedAgain(client.encoded));
    }
  }

  @Test
  void aMessageInMemoryOfALongerOneIsWhole() throws Exception {
    try (Pair pair = new Pair(answers())) {
      assertEquals(220_000, pair.client.call(called, "220000").length());
      assertEquals(200_000, pair.client.call(called, "200000").length());
    }
  }
}
