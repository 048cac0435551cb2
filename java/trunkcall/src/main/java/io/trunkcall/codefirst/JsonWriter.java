package io.trunkcall.codefirst;

import com.fasterxml.jackson.core.Base64Variants;
import com.fasterxml.jackson.core.JsonEncoding;
import com.fasterxml.jackson.core.JsonGenerator;
import io.trunkcall.Output;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.time.Instant;

/** Writes JSON. The library writes the syntax, this chooses the forms of values. */
final class JsonWriter extends ValueWriter implements AutoCloseable {
  private final JsonGenerator to;

  /** Whether what is written next is a key, which is text always. */
  private boolean inKey;

  JsonWriter(Output out) {
    try {
      to = JsonSyntax.FACTORY.createGenerator(new Stream(out), JsonEncoding.UTF8);
      to.disable(JsonGenerator.Feature.AUTO_CLOSE_JSON_CONTENT);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private interface Step {
    void run() throws IOException;
  }

  /** Does what fails only for faults of ours: the output is memory. */
  private static void write(Step step) {
    try {
      step.run();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  void writeNull() {
    write(to::writeNull);
  }

  @Override
  void writeBoolean(boolean value) {
    write(() -> to.writeBoolean(value));
  }

  @Override
  void writeInteger(long value) {
    if (inKey || value > ValueReader.MAX_SAFE || value < -ValueReader.MAX_SAFE) {
      writeChecked(Long.toString(value));
    } else {
      write(() -> to.writeNumber(value));
    }
  }

  @Override
  void writeUnsigned(long value) {
    if (value < 0) { // 2^63 and more
      writeChecked(Long.toUnsignedString(value));
    } else {
      writeInteger(value);
    }
  }

  @Override
  void writeFloat(float value) {
    if (Float.isFinite(value)) {
      write(() -> to.writeNumber(value));
    } else {
      writeChecked(Float.toString(value));
    }
  }

  @Override
  void writeDouble(double value) {
    if (Double.isFinite(value)) {
      write(() -> to.writeNumber(value));
    } else {
      writeChecked(Double.toString(value));
    }
  }

  @Override
  void writeText(String value) {
    if (Utf8.length(value) < 0) {
      throw ValueException.notUtf8();
    }
    writeChecked(value);
  }

  /** Writes text that has no unpaired surrogates. */
  private void writeChecked(String value) {
    if (inKey) {
      inKey = false;
      write(() -> to.writeFieldName(value));
    } else {
      write(() -> to.writeString(value));
    }
  }

  @Override
  void writeName(FieldName name) {
    write(() -> to.writeFieldName(name.json));
  }

  @Override
  void writeBytes(byte[] value) {
    write(() -> to.writeBinary(Base64Variants.MIME_NO_LINEFEEDS, value, 0, value.length));
  }

  @Override
  void writeTime(Instant value) {
    writeChecked(Times.format(value));
  }

  @Override
  void writeDuration(long nanoseconds) {
    writeChecked(Times.format(nanoseconds));
  }

  @Override
  void beginArray(int elements) {
    enter();
    write(to::writeStartArray);
  }

  @Override
  void endArray() {
    leave();
    write(to::writeEndArray);
  }

  @Override
  void beginMap(int entries) {
    enter();
    write(to::writeStartObject);
  }

  @Override
  void endMap() {
    leave();
    write(to::writeEndObject);
  }

  @Override
  void key() {
    inKey = true;
  }

  /** Hands over what was written, and gives buffers back. */
  @Override
  public void close() {
    write(to::close);
  }

  private static final class Stream extends OutputStream {
    private final Output out;

    Stream(Output out) {
      this.out = out;
    }

    @Override
    public void write(int b) {
      out.write(b);
    }

    @Override
    public void write(byte[] array, int offset, int length) {
      out.write(array, offset, length);
    }
  }
}
