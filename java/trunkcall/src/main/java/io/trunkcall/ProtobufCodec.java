package io.trunkcall;

import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.protobuf.MessageLite;
import com.google.protobuf.Parser;
import java.io.IOException;
import java.io.UncheckedIOException;
import org.jspecify.annotations.Nullable;

final class ProtobufCodec<M extends MessageLite> implements Codec<M> {
  static final int NUMBER = 1;

  private final Class<M> kind;
  private final Parser<M> parser;
  private final @Nullable Codec<M> json; // null without descriptors, or its library

  ProtobufCodec(M example, Class<M> kind, Parser<M> parser) {
    this.json = json(example);
    this.kind = kind;
    this.parser = parser;
  }

  @SuppressWarnings({"unchecked", "rawtypes"})
  private @Nullable Codec<M> json(M example) {
    return ProtobufJson.THERE && example instanceof Message whole
        ? new ProtobufJson(whole, this)
        : null;
  }

  @Override
  public int number() {
    return NUMBER;
  }

  @Override
  public String name() {
    return "protobuf";
  }

  @Override
  public void encode(M message, Output out) {
    int size = message.getSerializedSize();
    out.ensure(size);
    CodedOutputStream stream = CodedOutputStream.newInstance(out.array(), out.length(), size);
    try {
      message.writeTo(stream);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    stream.checkNoSpaceLeft();
    out.length(out.length() + size);
  }

  @Override
  public M decode(byte[] array, int offset, int length) {
    try {
      return parser.parseFrom(array, offset, length);
    } catch (InvalidProtocolBufferException e) {
      throw new IllegalArgumentException(e.getMessage(), e);
    }
  }

  @Override
  public @Nullable Codec<M> in(int number) {
    return number == ProtobufJson.NUMBER ? json : number == NUMBER ? this : null;
  }

  @Override
  public String carriedBy() {
    return json == null ? name() : "protobuf and json";
  }

  @Override
  public String toString() {
    return "protobuf messages " + kind.getSimpleName();
  }
}
