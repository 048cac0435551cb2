package io.trunkcall;

import com.google.protobuf.MessageLite;
import org.jspecify.annotations.Nullable;

/**
 * Makes bytes of messages of one type, and messages of bytes. Used by any thread, for several calls
 * at a time.
 *
 * <p>A codec that throws {@link StatusException} chooses the code and the message that the caller
 * sees. What else it throws is INVALID_ARGUMENT of a request and INTERNAL of a response.
 */
public interface Codec<T> {
  /** The number of messages that are bytes already. */
  int RAW = 0;

  /** The number of Protobuf. */
  int PROTOBUF = 1;

  /** The number of JSON: Protobuf's own of its messages, that of code-first values. */
  int JSON = 2;

  /** The number of MessagePack, for code-first values. */
  int MESSAGE_PACK = 3;

  /** The number of Cap'n Proto, for which a program brings its codec. */
  int CAPNP = 4;

  /**
   * Which codec it is on the wire (protocol.md 3.8): 0 raw, 1 Protobuf, 2 JSON, 3 MessagePack, 4
   * Cap'n Proto, 8 to 15 a user's own, to which both sides give the same {@link #name}.
   */
  int number();

  /** What both sides call it. */
  String name();

  /** Appends a message to {@code out}, which belongs to others once the function has returned. */
  void encode(T message, Output out);

  /** The message that these bytes are. They belong to others once the function has returned. */
  T decode(byte[] array, int offset, int length);

  /**
   * The same messages in another codec, by its number: what a server uses for a call that came in
   * it. Null: it is refused, UNIMPLEMENTED.
   */
  default @Nullable Codec<T> in(int number) {
    return number == number() ? this : null;
  }

  /** What a server that is set to be strict reads requests by. */
  default Codec<T> strict() {
    return this;
  }

  /** The codecs that {@link #in} knows, for people. */
  default String carriedBy() {
    return name();
  }

  /**
   * Messages of Protobuf: those of the class of {@code defaultInstance}. A message of a stream that
   * is hardly more than one field of bytes, and can have no others, keeps the array that it came in
   * for them: who keeps the bytes keeps at most a seventh of their length more.
   */
  @SuppressWarnings("unchecked")
  static <M extends MessageLite> Codec<M> protobuf(M defaultInstance) {
    return new ProtobufCodec<>(
        defaultInstance,
        (Class<M>) defaultInstance.getClass(),
        (com.google.protobuf.Parser<M>) defaultInstance.getParserForType());
  }

  /**
   * The same messages in Protobuf's own JSON.
   *
   * @throws UnsupportedOperationException for messages without descriptors, and where the program
   *     has no {@code protobuf-java-util}
   */
  static <M extends MessageLite> Codec<M> json(M defaultInstance) {
    Codec<M> json = protobuf(defaultInstance).in(ProtobufJson.NUMBER);
    if (json == null) {
      throw new UnsupportedOperationException(
          "JSON of "
              + defaultInstance.getClass().getName()
              + " wants its descriptor, and the library protobuf-java-util");
    }
    return json;
  }

  /** Messages that are bytes already. */
  static Codec<byte[]> raw() {
    return RawCodec.RAW;
  }
}
