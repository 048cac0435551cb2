package io.trunkcall.codefirst;

/**
 * What is wrong with a value that is read or written, and where in the message. Its text is for the
 * other side unless it is {@linkplain #isPrivate private}.
 */
final class ValueException extends RuntimeException {
  /** How deep arrays and maps may nest in a message (spec/limits.md). */
  static final int MAX_NESTING = 100;

  /** What the readers call an array that comes. */
  static final String AN_ARRAY = "an array";

  private final boolean limit;
  private final boolean hidden;
  private final boolean array;
  private final String text;
  private String path = "";

  private ValueException(String text, boolean limit, boolean hidden, boolean array) {
    // It is bad input, not a fault of the program: nobody reads a stack trace of it.
    super(text, null, false, false);
    this.text = text;
    this.limit = limit;
    this.hidden = hidden;
    this.array = array;
  }

  static ValueException bad(String text) {
    return new ValueException(text, false, false, false);
  }

  static ValueException unwanted(String want, String got) {
    return new ValueException("want " + want + ", got " + got, false, false, got.equals(AN_ARRAY));
  }

  /** An error whose text may tell of Java's types, or of what a method of the user's says. */
  static ValueException hidden(String text) {
    return new ValueException(text, false, true, false);
  }

  static ValueException nesting() {
    return new ValueException(
        "arrays and maps nest deeper than max_nesting " + MAX_NESTING, true, false, false);
  }

  static ValueException tooMuch(int perByte) {
    return new ValueException(
        "its records need more memory than %d bytes for each byte of the message"
            .formatted(perByte),
        true,
        false,
        false);
  }

  static ValueException cutOff() {
    return bad("the message is cut off");
  }

  static ValueException behind() {
    return bad("bytes follow the message");
  }

  static ValueException notUtf8() {
    return bad("want text, got bytes that are not UTF-8");
  }

  /** Adds a step to the path of an error that came up below. */
  ValueException within(String step) {
    if (!limit) { // a path of a hundred steps helps nobody
      path = step + path;
    }
    return this;
  }

  ValueException at(int index) {
    return within("[" + index + "]");
  }

  /** Whether a limit was crossed. */
  boolean isLimit() {
    return limit;
  }

  boolean isPrivate() {
    return hidden;
  }

  /** Whether an array came where another value is wanted. It is still to be read. */
  boolean isArrayAtTop() {
    return array && path.isEmpty();
  }

  /** What is wrong, behind the words that name the value: ": want …" or ", at .x: want …". */
  String told() {
    return path.isEmpty() ? ": " + text : ", at " + path + ": " + text;
  }

  @Override
  public String getMessage() {
    return path.isEmpty() ? text : "at " + path + ": " + text;
  }
}
