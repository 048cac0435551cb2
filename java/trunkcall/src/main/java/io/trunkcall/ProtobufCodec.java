package io.trunkcall;

import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.MessageLite;
import com.google.protobuf.Parser;
import java.io.IOException;
import java.io.UncheckedIOException;

final class ProtobufCodec<M extends MessageLite> implements Codec<M> {
  static final int NUMBER = 1;

  private final Class<M> kind;
  private final Parser<M> parser;

  ProtobufCodec(Class<M> kind, Parser<M> parser) {
    this.kind = kind;
    this.parser = parser;
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
  public String toString() {
    return "protobuf messages " + kind.getSimpleName();
  }
}
