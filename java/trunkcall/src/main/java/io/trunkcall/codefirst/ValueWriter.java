package io.trunkcall.codefirst;

import java.time.Instant;

/**
 * Writes the values of one message in the forms of code-first.md 3.1. Between {@link #beginArray}
 * and {@link #endArray} come the elements; in maps {@link #key}, then the key, then the value. What
 * cannot be written throws a {@link ValueException}.
 */
abstract class ValueWriter {
  private int depth;

  abstract void writeNull();

  abstract void writeBoolean(boolean value);

  abstract void writeInteger(long value);

  /** A whole number of 64 bits without a sign. */
  abstract void writeUnsigned(long value);

  abstract void writeFloat(float value);

  abstract void writeDouble(double value);

  abstract void writeText(String value);

  abstract void writeBytes(byte[] value);

  abstract void writeTime(Instant value);

  abstract void writeDuration(long nanoseconds);

  abstract void beginArray(int elements);

  abstract void endArray();

  abstract void beginMap(int entries);

  abstract void endMap();

  /** Says that what is written next is a key. */
  abstract void key();

  /** Writes a field's name as a key. */
  abstract void writeName(FieldName name);

  /** Enters an array or map. */
  final void enter() {
    if (++depth > ValueException.MAX_NESTING) {
      throw ValueException.nesting();
    }
  }

  final void leave() {
    depth--;
  }
}
