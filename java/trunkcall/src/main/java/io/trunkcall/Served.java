package io.trunkcall;

import io.trunkcall.internal.wire.ServedMethod;
import org.jspecify.annotations.Nullable;

/** A method that is served, with its codecs by their numbers. */
final class Served {
  private static final int CODECS = 16; // there is no other number (protocol.md 3.8)

  final Method<?, ?> method;
  final Handler handler;
  final Kind kind;
  final ServedMethod wire;
  private final @Nullable Codec<Object>[] requests = codecs();
  private final @Nullable Codec<Object>[] responses = codecs();

  Served(Handler handler) {
    this.handler = handler;
    this.method = handler.method();
    this.kind = method.kind();
    this.wire = new ServedMethod(method.name(), kind.takesOne(), this);
    for (int number = 0; number < CODECS; number++) {
      requests[number] = in(method.request(), number);
      responses[number] = kind == Kind.ONE_WAY ? null : in(method.response(), number);
    }
  }

  /** The codec of requests that come in the codec of this number; null: they cannot. */
  @Nullable Codec<Object> request(int number) {
    return requests[number];
  }

  /** The codec of the responses to those. */
  @Nullable Codec<Object> response(int number) {
    return responses[number];
  }

  @SuppressWarnings("unchecked")
  private static @Nullable Codec<Object> in(Codec<?> codec, int number) {
    return (Codec<Object>) codec.in(number);
  }

  @SuppressWarnings({"unchecked", "rawtypes"})
  private static @Nullable Codec<Object>[] codecs() {
    return new Codec[CODECS];
  }
}
