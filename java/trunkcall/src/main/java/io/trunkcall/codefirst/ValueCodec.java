package io.trunkcall.codefirst;

import io.trunkcall.Codec;
import io.trunkcall.Output;
import org.jspecify.annotations.Nullable;

/** Messages as MessagePack or JSON, by code-first.md. */
final class ValueCodec<T> implements Codec<T> {
  /** The two codecs. */
  enum Form {
    MESSAGE_PACK(3, "msgpack"),
    JSON(2, "json");

    final int number;
    final String text;

    Form(int number, String text) {
      this.number = number;
      this.text = text;
    }
  }

  private final Message<T> message;
  private final Form form;
  private final boolean strict;

  ValueCodec(Message<T> message, Form form, boolean strict) {
    this.message = message;
    this.form = form;
    this.strict = strict;
  }

  @Override
  public int number() {
    return form.number;
  }

  @Override
  public String name() {
    return form.text;
  }

  @Override
  public void encode(T value, Output out) {
    try {
      if (form == Form.MESSAGE_PACK) {
        message.write(new PackWriter(out), value);
      } else {
        try (JsonWriter writer = new JsonWriter(out)) {
          message.write(writer, value);
        }
      }
    } catch (ValueException e) {
      throw message.fault(e);
    }
  }

  @Override
  public T decode(byte[] array, int offset, int length) {
    try {
      if (form == Form.MESSAGE_PACK) {
        return message.read(new PackReader(array, offset, length));
      }
      try (JsonReader reader = new JsonReader(array, offset, length, strict)) {
        return message.read(reader);
      }
    } catch (ValueException e) {
      throw message.fault(e);
    }
  }

  @Override
  public @Nullable Codec<T> in(int number) {
    if (number == form.number) {
      return this;
    }
    for (Form other : Form.values()) {
      if (other.number == number) {
        return new ValueCodec<>(message, other, strict);
      }
    }
    return null;
  }

  @Override
  public Codec<T> strict() {
    return new ValueCodec<>(message, form, true);
  }

  @Override
  public String carriedBy() {
    return Form.MESSAGE_PACK.text + " and " + Form.JSON.text;
  }

  @Override
  public String toString() {
    return form.text;
  }
}
