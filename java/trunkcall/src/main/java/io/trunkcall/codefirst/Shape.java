package io.trunkcall.codefirst;

import org.jspecify.annotations.Nullable;

/**
 * How values of one Java type are written and read, in either codec. It is made once from the type
 * and used by all threads.
 */
abstract class Shape {
  /** Writes a value; null where the type is not optional is refused. */
  final void write(ValueWriter w, @Nullable Object value) {
    if (value == null) {
      writeAbsent(w);
    } else {
      writeValue(w, value);
    }
  }

  abstract void writeValue(ValueWriter w, Object value);

  /** Writes null, if that is a value of the type. */
  void writeAbsent(ValueWriter w) {
    throw ValueException.unwanted(wanted(), "null");
  }

  abstract @Nullable Object read(ValueReader r);

  /** What a field takes that is missing. */
  abstract @Nullable Object zero();

  /** What is wanted, for error messages: "text". */
  abstract String wanted();

  /** Whether the values can be keys of maps. */
  boolean isKey() {
    return false;
  }

  /** Whether null is a value, so that the type cannot be optional once more. */
  boolean takesNull() {
    return false;
  }
}
