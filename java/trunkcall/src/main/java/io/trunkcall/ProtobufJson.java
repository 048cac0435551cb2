package io.trunkcall;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.protobuf.util.JsonFormat;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/** Messages of Protobuf in its own JSON. Unknown fields are left out of account. */
final class ProtobufJson<M extends Message> implements Codec<M> {
  static final int NUMBER = 2;

  /** Whether the library for it is there. */
  static final boolean THERE = isThere();

  private final M example;
  private final ProtobufCodec<M> binary;
  private final JsonFormat.Printer printer;
  private final JsonFormat.Parser parser;

  ProtobufJson(M example, ProtobufCodec<M> binary) {
    this.example = example;
    this.binary = binary;
    JsonFormat.TypeRegistry types =
        JsonFormat.TypeRegistry.newBuilder().add(example.getDescriptorForType()).build();
    this.printer = JsonFormat.printer().omittingInsignificantWhitespace().usingTypeRegistry(types);
    this.parser = JsonFormat.parser().ignoringUnknownFields().usingTypeRegistry(types);
  }

  private static boolean isThere() {
    try {
      ClassLoader loader = ProtobufJson.class.getClassLoader();
      Class.forName("com.google.protobuf.util.JsonFormat", false, loader);
      return true;
    } catch (ClassNotFoundException e) {
      return false;
    }
  }

  @Override
  public int number() {
    return NUMBER;
  }

  @Override
  public String name() {
    return "json";
  }

  @Override
  public void encode(M message, Output out) {
    try {
      byte[] text = printer.print(message).getBytes(StandardCharsets.UTF_8);
      out.write(text, 0, text.length);
    } catch (InvalidProtocolBufferException e) {
      throw new IllegalArgumentException(e.getMessage(), e);
    }
  }

  @Override
  @SuppressWarnings("unchecked")
  public M decode(byte[] array, int offset, int length) {
    try {
      String text =
          StandardCharsets.UTF_8
              .newDecoder()
              .decode(ByteBuffer.wrap(array, offset, length))
              .toString();
      Message.Builder made = example.newBuilderForType();
      parser.merge(text, made);
      return (M) made.build();
    } catch (CharacterCodingException e) {
      throw new IllegalArgumentException("it is not UTF-8", e);
    } catch (InvalidProtocolBufferException e) {
      throw new IllegalArgumentException(e.getMessage(), e);
    }
  }

  @Override
  public @Nullable Codec<M> in(int number) {
    return number == NUMBER ? this : binary.in(number);
  }

  @Override
  public String carriedBy() {
    return binary.carriedBy();
  }

  @Override
  public String toString() {
    return "protobuf messages " + example.getClass().getSimpleName() + " in JSON";
  }
}
