package io.trunkcall;

import java.nio.charset.StandardCharsets;
import java.util.function.UnaryOperator;

/** Messages that are texts, as raw bytes, and methods of them. */
final class Texts {
  static final Codec<String> CODEC = decoding(text -> text);

  static final Method<String, String> SAY = Method.unary("/test.Texts/Say", CODEC, CODEC);
  static final Method<String, String> OTHER = Method.unary("/test.Texts/Other", CODEC, CODEC);
  static final Method<String, Void> NOTE = Method.oneWay("/test.Texts/Note", CODEC);
  static final Method<String, String> COUNT =
      Method.serverStream("/test.Texts/Count", CODEC, CODEC);
  static final Method<String, String> JOIN = Method.clientStream("/test.Texts/Join", CODEC, CODEC);
  static final Method<String, String> TALK = Method.bidiStream("/test.Texts/Talk", CODEC, CODEC);

  private Texts() {}

  /** A codec of such messages, which makes something else of what it has decoded. */
  static Codec<String> decoding(UnaryOperator<String> by) {
    return new Codec<>() {
      @Override
      public int number() {
        return 0;
      }

      @Override
      public String name() {
        return "text";
      }

      @Override
      public void encode(String message, Output out) {
        if (message.equals("cannot be encoded")) {
          throw new IllegalArgumentException("a text that cannot be encoded");
        }
        byte[] bytes = message.getBytes(StandardCharsets.UTF_8);
        out.write(bytes, 0, bytes.length);
      }

      @Override
      public String decode(byte[] array, int offset, int length) {
        String text = new String(array, offset, length, StandardCharsets.UTF_8);
        if (text.equals("cannot be decoded")) {
          throw new IllegalArgumentException("a text that cannot be decoded");
        }
        return by.apply(text);
      }
    };
  }
}
