package io.trunkcall.codefirst;

import io.trunkcall.Code;
import io.trunkcall.Codec;
import java.util.Objects;

/**
 * Codecs for messages of ordinary methods: records, classes and whatever else can be an argument of
 * a code-first method (spec/code-first.md). A server accepts both codecs for a method that has
 * either.
 */
public final class ValueCodecs {
  private ValueCodecs() {}

  /**
   * Messages of a class as MessagePack.
   *
   * @throws IllegalArgumentException if its values cannot be carried
   */
  public static <T> Codec<T> messagePack(Class<T> type) {
    return new ValueCodec<>(new One<>(type), ValueCodec.Form.MESSAGE_PACK, false);
  }

  /**
   * Messages of a class as JSON.
   *
   * @throws IllegalArgumentException if its values cannot be carried
   */
  public static <T> Codec<T> json(Class<T> type) {
    return new ValueCodec<>(new One<>(type), ValueCodec.Form.JSON, false);
  }

  /** One value is the message. */
  private static final class One<T> implements Message<T> {
    private final Class<T> type;
    private final Shape shape;

    One(Class<T> type) {
      this.type = type;
      this.shape = Shaping.shapeOf(type);
    }

    @Override
    public void write(ValueWriter w, T message) {
      shape.write(w, message);
    }

    @Override
    @SuppressWarnings("unchecked") // the shape is that of the type, which may be primitive
    public T read(ValueReader r) {
      Object message = shape.read(r);
      r.end();
      return (T) Objects.requireNonNull(message, "message");
    }

    @Override
    public RuntimeException fault(ValueException e) {
      if (e.isLimit()) {
        return Signature.failed(Code.RESOURCE_EXHAUSTED, "the message" + e.told(), e);
      }
      return new IllegalArgumentException(
          e.isPrivate() ? type.getTypeName() + e.told() : e.getMessage(), e);
    }
  }
}
