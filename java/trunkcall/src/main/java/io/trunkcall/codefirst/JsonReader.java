package io.trunkcall.codefirst;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.io.JsonEOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.math.BigInteger;
import java.time.Instant;
import java.util.Base64;
import org.jspecify.annotations.Nullable;

/**
 * Reads JSON. The library parses the syntax; this checks that the text is UTF-8, and that each
 * value is of the wanted type.
 */
final class JsonReader extends ValueReader implements AutoCloseable {
  /** How much of a name that nobody knows is told. */
  private static final int LONGEST_QUOTED = 64;

  private static final int DIGITS = 20; // of 2^64

  private final JsonParser from;
  private final boolean strict;

  /** Whether there are escapes, which may make text that is not valid. */
  private final boolean escapes;

  /** What comes, if that is known yet; null behind the end. */
  private @Nullable JsonToken token;

  private boolean known;

  /** The name of a field that came last, and was not the likely one. */
  private String lastName = "";

  JsonReader(byte[] array, int offset, int length, boolean strict) {
    super(length);
    check(array, offset, offset + length);
    this.strict = strict;
    escapes = has(array, offset, offset + length, '\\');
    try {
      from = JsonSyntax.FACTORY.createParser(array, offset, length);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The library would take other encodings, a byte order mark, and bytes that are not UTF-8. */
  private static void check(byte[] array, int from, int end) {
    boolean marked =
        end - from >= 3 && (array[from] & 0xff) == 0xef && array[from + 1] == (byte) 0xbb;
    if (marked || has(array, from, end, 0)) {
      throw ValueException.bad("the message is not JSON at byte 0");
    }
    if (!Utf8.isValid(array, from, end)) {
      throw ValueException.bad("the message is not UTF-8");
    }
  }

  private static boolean has(byte[] array, int from, int end, int wanted) {
    for (int i = from; i < end; i++) {
      if (array[i] == wanted) {
        return true;
      }
    }
    return false;
  }

  /** What comes, or null at the end. */
  private @Nullable JsonToken peek() {
    if (!known) {
      try {
        token = from.nextToken();
      } catch (IOException e) {
        throw broken(e);
      }
      known = true;
    }
    return token;
  }

  private JsonToken comes() {
    JsonToken comes = peek();
    if (comes == null) {
      throw ValueException.cutOff();
    }
    return comes;
  }

  private void taken() {
    known = false;
  }

  /** The library's own words may quote the input. */
  private ValueException broken(IOException e) {
    return e instanceof JsonEOFException
        ? ValueException.cutOff()
        : ValueException.bad(
            "the message is not JSON at byte " + from.currentLocation().getByteOffset());
  }

  private ValueException unwanted(String want) {
    return ValueException.unwanted(want, got(comes()));
  }

  private static String got(JsonToken token) {
    return switch (token) {
      case VALUE_NULL -> "null";
      case VALUE_TRUE, VALUE_FALSE -> "a boolean";
      case VALUE_NUMBER_INT, VALUE_NUMBER_FLOAT -> "a number";
      case VALUE_STRING, FIELD_NAME -> "text";
      case START_ARRAY -> ValueException.AN_ARRAY;
      default -> "an object";
    };
  }

  @Override
  boolean takeNull() {
    if (comes() != JsonToken.VALUE_NULL) {
      return false;
    }
    taken();
    return true;
  }

  @Override
  boolean readBoolean() {
    JsonToken comes = comes();
    if (comes != JsonToken.VALUE_TRUE && comes != JsonToken.VALUE_FALSE) {
      throw unwanted("a boolean");
    }
    taken();
    return comes == JsonToken.VALUE_TRUE;
  }

  private static boolean isText(JsonToken token) {
    return token == JsonToken.VALUE_STRING || token == JsonToken.FIELD_NAME;
  }

  @Override
  String readText() {
    if (!isText(comes())) {
      throw unwanted("text");
    }
    String text = raw();
    if (escapes && Utf8.length(text) < 0) {
      throw ValueException.notUtf8();
    }
    return text;
  }

  /** Takes a number or text as it stands there. */
  private String raw() {
    try {
      String text = from.getText();
      taken();
      return text;
    } catch (IOException e) {
      throw broken(e);
    }
  }

  @Override
  void readWhole(int bits, boolean signed) {
    JsonToken comes = comes();
    if (comes == JsonToken.VALUE_NUMBER_INT) {
      decimal(raw(), bits, signed);
      if (Long.compareUnsigned(magnitude, MAX_SAFE) > 0) {
        throw wholeWanted(bits, signed, "a number beyond 2^53 - 1, which has to be text");
      }
    } else if (comes == JsonToken.VALUE_NUMBER_FLOAT) {
      double value = Double.parseDouble(raw());
      if (Double.isInfinite(value)) {
        throw wholeWanted(bits, signed, OUT_OF_RANGE);
      }
      wholeOf(value, bits, signed);
    } else if (isText(comes)) {
      decimal(readText(), bits, signed);
    } else {
      throw wholeWanted(bits, signed, got(comes));
    }
  }

  /** Reads digits, the first not a zero in front of others. */
  private void decimal(String text, int bits, boolean signed) {
    boolean isNegative = text.startsWith("-");
    int first = isNegative ? 1 : 0;
    int digits = text.length() - first;
    if (digits == 0 || (digits > 1 && text.charAt(first) == '0')) {
      throw wholeWanted(bits, signed, "text");
    }
    long value = 0;
    boolean tooLarge = digits > DIGITS;
    for (int i = first; i < text.length(); i++) {
      int digit = text.charAt(i) - '0';
      if (digit < 0 || digit > 9) {
        throw wholeWanted(bits, signed, "text");
      }
      // (2^64 - 1 - digit) / 10, which is the same for digits up to 5, and one less above
      long most = Long.divideUnsigned(-1L - digit, 10);
      tooLarge |= Long.compareUnsigned(value, most) > 0;
      value = 10 * value + digit;
    }
    if (tooLarge) {
      throw wholeWanted(bits, signed, OUT_OF_RANGE);
    }
    whole(isNegative, value);
  }

  @Override
  double readFloat(int bits) {
    JsonToken comes = comes();
    if (comes.isNumeric()) {
      return narrowed(finite(raw()), bits);
    }
    if (!isText(comes)) {
      throw unwanted("a number");
    }
    return switch (readText()) {
      case "NaN" -> Double.NaN;
      case "Infinity" -> Double.POSITIVE_INFINITY;
      case "-Infinity" -> Double.NEGATIVE_INFINITY;
      default -> throw ValueException.unwanted("a number", "text");
    };
  }

  private static double finite(String number) {
    double value = Double.parseDouble(number);
    if (Double.isInfinite(value)) {
      throw ValueException.unwanted("a float of 64 bits", "one out of range");
    }
    return value;
  }

  @Override
  byte[] readBytes() {
    String text = readText();
    boolean url = text.indexOf('-') >= 0 || text.indexOf('_') >= 0;
    try {
      return (url ? Base64.getUrlDecoder() : Base64.getDecoder()).decode(text);
    } catch (IllegalArgumentException e) {
      throw ValueException.unwanted("bytes as base64", "other text");
    }
  }

  @Override
  Instant readTime() {
    return Times.parseTime(readText());
  }

  @Override
  long readDuration() {
    return Times.parseDuration(readText());
  }

  @Override
  int beginArray() {
    return begin(JsonToken.START_ARRAY, ValueException.AN_ARRAY);
  }

  @Override
  int beginMap() {
    return begin(JsonToken.START_OBJECT, "an object");
  }

  private int begin(JsonToken bracket, String want) {
    if (comes() != bracket) {
      throw unwanted(want);
    }
    enter();
    taken();
    return -1;
  }

  @Override
  boolean more(int left) {
    if (!comes().isStructEnd()) {
      return true;
    }
    leave();
    taken();
    return false;
  }

  @Override
  int readField(RecordFields fields, int likely) {
    String name = readText();
    if (likely < fields.size() && fields.name(likely).text.equals(name)) {
      return likely;
    }
    lastName = name;
    return fields.index(name);
  }

  @Override
  void unknownField() {
    if (strict) {
      throw ValueException.bad("there is no field \"" + quoted(lastName) + "\"");
    }
  }

  private static String quoted(String name) {
    int length = Math.min(name.length(), LONGEST_QUOTED);
    if (length < name.length() && Character.isHighSurrogate(name.charAt(length - 1))) {
      length--;
    }
    StringBuilder text = new StringBuilder();
    for (char c : name.substring(0, length).toCharArray()) {
      if (c < ' ' || c == 0x7f) {
        text.append(String.format("\\u%04x", (int) c));
      } else {
        text.append(c == '"' || c == '\\' ? "\\" : "").append(c);
      }
    }
    return text.toString();
  }

  @Override
  @Nullable Object readAny() {
    JsonToken comes = comes();
    return switch (comes) {
      case VALUE_NULL -> {
        taken();
        yield null;
      }
      case VALUE_TRUE, VALUE_FALSE -> readBoolean();
      case VALUE_NUMBER_INT -> anyWhole(raw());
      case VALUE_NUMBER_FLOAT -> finite(raw());
      case START_ARRAY -> readAnyList();
      case START_OBJECT -> readAnyMap();
      default -> readText();
    };
  }

  /** A number without fraction and exponent: a float where 64 bits do not hold it. */
  private static Object anyWhole(String digits) {
    if (digits.length() <= DIGITS) {
      BigInteger value = new BigInteger(digits);
      if (value.bitLength() < Long.SIZE) {
        return value.longValue();
      }
      if (value.signum() > 0 && value.compareTo(Whole.MOST) <= 0) {
        return value;
      }
    }
    return finite(digits);
  }

  @Override
  String readAnyKey() {
    return readText();
  }

  @Override
  void skip() {
    int open = 0;
    do {
      JsonToken comes = comes();
      if (comes.isStructStart()) {
        enter();
        open++;
      } else if (comes.isStructEnd()) {
        leave();
        open--;
      } else if (escapes && isText(comes)) {
        readText();
      }
      taken();
    } while (open > 0);
  }

  @Override
  void end() {
    if (peek() != null) {
      throw ValueException.behind();
    }
  }

  /** Gives buffers back. */
  @Override
  public void close() {
    try {
      from.close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
