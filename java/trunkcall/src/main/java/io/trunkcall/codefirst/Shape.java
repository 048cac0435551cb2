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

  /** About how many bytes of memory {@link #zero} makes; 0 for what is shared. */
  long memory() {
    return 0;
  }

  /** What is wanted, for error messages: "text". */
  abstract String wanted();

  /** Whether values of another type may be read as this one, by the kind that both are of. */
  final boolean mayBe(Shape other) {
    String one = kind(wanted());
    String two = kind(other.wanted());
    return one.equals(two) || one.equals(ANY) || two.equals(ANY);
  }

  /** What an object of any type is. */
  static final String ANY = "any value";

  private static String kind(String wanted) {
    return switch (wanted) {
      case "a whole number" -> "a number"; // each takes the other where its value fits
      case "the name of a constant" -> "text";
      default -> wanted;
    };
  }

  /** Whether the values can be keys of maps. */
  boolean isKey() {
    return false;
  }

  /** Whether null is a value, so that the type cannot be optional once more. */
  boolean takesNull() {
    return false;
  }
}
