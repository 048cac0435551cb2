package io.trunkcall;

import com.google.protobuf.ByteString;
import com.google.protobuf.CodedInputStream;
import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.protobuf.MessageLite;
import com.google.protobuf.Parser;
import com.google.protobuf.UnsafeByteOperations;
import java.io.IOException;
import java.io.UncheckedIOException;
import org.jspecify.annotations.Nullable;

final class ProtobufCodec<M extends MessageLite> implements InPlaceCodec<M> {
  static final int NUMBER = 1;

  private static final int LEAST_IN_PLACE = 256; // bytes: shorter ones are copied as fast

  private final Class<M> kind;
  private final Parser<M> parser;
  private final @Nullable FieldDescriptor bytes; // the only field that can hold bytes as they came
  private final @Nullable Codec<M> json; // null without descriptors, or its library

  ProtobufCodec(M example, Class<M> kind, Parser<M> parser) {
    this.json = json(example);
    this.bytes = example instanceof Message whole ? bytes(whole.getDescriptorForType()) : null;
    this.kind = kind;
    this.parser = parser;
  }

  @SuppressWarnings({"unchecked", "rawtypes"})
  private @Nullable Codec<M> json(M example) {
    return ProtobufJson.THERE && example instanceof Message whole
        ? new ProtobufJson(whole, this)
        : null;
  }

  /**
   * The field whose value may lie in the array of its message. Not if the message has another value
   * that could: who keeps only that would keep the whole array.
   */
  private static @Nullable FieldDescriptor bytes(Descriptor kind) {
    FieldDescriptor found = null;
    for (FieldDescriptor field : kind.getFields()) {
      switch (field.getJavaType()) {
        case BYTE_STRING -> {
          if (found != null || field.isRepeated()) {
            return null;
          }
          found = field;
        }
        case STRING, MESSAGE -> {
          return null;
        }
        default -> {}
      }
    }
    return kind.isExtendable() ? null : found;
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

  /** A message that is hardly more than its field of bytes keeps the array for it. */
  @Override
  public M decodeInPlace(byte[] array, int length) {
    FieldDescriptor field = bytes;
    if (field == null || length < LEAST_IN_PLACE) {
      return decode(array, 0, length);
    }
    CodedInputStream in = UnsafeByteOperations.unsafeWrap(array, 0, length).newCodedInput();
    in.enableAliasing(true);
    M message;
    try {
      message = parser.parseFrom(in);
      in.checkLastTagWas(0);
    } catch (InvalidProtocolBufferException e) {
      throw new IllegalArgumentException(e.getMessage(), e);
    }
    ByteString value = (ByteString) ((Message) message).getField(field);
    return value.size() >= length - length / 8 ? message : decode(array, 0, length);
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
