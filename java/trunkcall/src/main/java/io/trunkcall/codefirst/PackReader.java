package io.trunkcall.codefirst;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** Reads MessagePack. No announced length is believed before the bytes are there. */
final class PackReader extends ValueReader {
  private static final VarHandle SHORT = view(short[].class);
  private static final VarHandle INT = view(int[].class);
  private static final VarHandle LONG = view(long[].class);

  private static final int NIL = 0xc0;
  private static final int TIMESTAMP = -1;

  private final byte[] in;
  private final int end;
  private int at;

  /** Of the extension that {@link #extension} read last. */
  private int extensionType;

  PackReader(byte[] array, int offset, int length) {
    super(length);
    in = array;
    at = offset;
    end = offset + length;
  }

  private static VarHandle view(Class<?> of) {
    return MethodHandles.byteArrayViewVarHandle(of, ByteOrder.BIG_ENDIAN);
  }

  /** The first byte of what comes. */
  private int form() {
    if (at == end) {
      throw ValueException.cutOff();
    }
    return in[at] & 0xff;
  }

  /** Passes over so many bytes and returns where they began. */
  private int take(long bytes) {
    if (bytes > end - at) {
      throw ValueException.cutOff();
    }
    int begin = at;
    at += (int) bytes;
    return begin;
  }

  /** Takes the first byte and so many behind it, and returns where the latter are. */
  private int behindForm(int bytes) {
    return take(1L + bytes) + 1;
  }

  /** Takes the first byte, and the number of 1, 2 or 4 bytes behind it. */
  private long length(int bytes) {
    int begin = behindForm(bytes);
    return switch (bytes) {
      case 1 -> in[begin] & 0xff;
      case 2 -> (short) SHORT.get(in, begin) & 0xffff;
      default -> (int) INT.get(in, begin) & 0xffffffffL;
    };
  }

  private ValueException unwanted(String want) {
    String got = got();
    return got.isEmpty()
        ? ValueException.bad("the message is not MessagePack")
        : ValueException.unwanted(want, got);
  }

  /** What comes, for error messages, or nothing if it is not MessagePack. */
  private String got() {
    int form = form();
    if (isInteger(form)) {
      return "a whole number";
    }
    return switch (form) {
      case NIL -> "null";
      case 0xc1 -> "";
      case 0xc2, 0xc3 -> "a boolean";
      case 0xc4, 0xc5, 0xc6 -> "bytes";
      case 0xca, 0xcb -> "a float";
      case 0xd9, 0xda, 0xdb -> "text";
      case 0xdc, 0xdd -> ValueException.AN_ARRAY;
      case 0xde, 0xdf -> "a map";
      default -> form < 0x90 ? "a map" : form < 0xa0 ? ValueException.AN_ARRAY : gotBehind(form);
    };
  }

  private static String gotBehind(int form) {
    return form < 0xc0 ? "text" : "an extension";
  }

  private static boolean isInteger(int form) {
    return form < 0x80 || form >= 0xe0 || (0xcc <= form && form <= 0xd3);
  }

  @Override
  boolean takeNull() {
    if (form() != NIL) {
      return false;
    }
    at++;
    return true;
  }

  @Override
  boolean readBoolean() {
    int form = form();
    if ((form & ~1) != 0xc2) {
      throw unwanted("a boolean");
    }
    at++;
    return form == 0xc3;
  }

  @Override
  void readWhole(int bits, boolean signed) {
    int form = form();
    if (isInteger(form)) {
      integer(form);
    } else if (form == 0xca || form == 0xcb) {
      wholeOf(readDouble(), bits, signed);
    } else {
      String got = got();
      throw got.isEmpty() ? unwanted("") : wholeWanted(bits, signed, got);
    }
  }

  private void integer(int form) {
    switch (form) {
      case 0xcc -> whole(false, in[behindForm(1)] & 0xff);
      case 0xcd -> whole(false, (short) SHORT.get(in, behindForm(2)) & 0xffff);
      case 0xce -> whole(false, (int) INT.get(in, behindForm(4)) & 0xffffffffL);
      case 0xcf -> whole(false, (long) LONG.get(in, behindForm(8)));
      case 0xd0 -> signed(in[behindForm(1)]);
      case 0xd1 -> signed((short) SHORT.get(in, behindForm(2)));
      case 0xd2 -> signed((int) INT.get(in, behindForm(4)));
      case 0xd3 -> signed((long) LONG.get(in, behindForm(8)));
      default -> signed(in[at++]);
    }
  }

  private void signed(long value) {
    whole(value < 0, value < 0 ? -value : value);
  }

  @Override
  double readFloat(int bits) {
    return narrowed(readDouble(), bits);
  }

  private double readDouble() {
    int form = form();
    if (form == 0xcb) {
      return Double.longBitsToDouble((long) LONG.get(in, behindForm(8)));
    }
    if (form == 0xca) {
      return Float.intBitsToFloat((int) INT.get(in, behindForm(4)));
    }
    if (!isInteger(form)) {
      throw unwanted("a number");
    }
    integer(form);
    double value = magnitude >= 0 ? magnitude : unsignedDouble(magnitude);
    return negative ? -value : value;
  }

  /** The nearest float to a number above 2^63. */
  private static double unsignedDouble(long magnitude) {
    // The lowest bit says whether there was anything below, as rounding wants to know.
    return 2.0 * (magnitude >>> 1 | (magnitude & 1));
  }

  /** Takes the header of text and returns its length. */
  private long textLength() {
    int form = form();
    if (0xa0 <= form && form < 0xc0) {
      at++;
      return form & 0x1f;
    }
    return switch (form) {
      case 0xd9 -> length(1);
      case 0xda -> length(2);
      case 0xdb -> length(4);
      default -> throw unwanted("text");
    };
  }

  @Override
  String readText() {
    long length = textLength();
    return text(take(length));
  }

  /** The text between a place and the next value. */
  private String text(int begin) {
    int ascii = Utf8.endOfAscii(in, begin, at);
    if (ascii == at) {
      return new String(in, begin, at - begin, StandardCharsets.ISO_8859_1);
    }
    if (!Utf8.isValid(in, ascii, at)) {
      throw ValueException.notUtf8();
    }
    return new String(in, begin, at - begin, StandardCharsets.UTF_8);
  }

  @Override
  int readField(RecordFields fields, int likely) {
    long length = textLength();
    int begin = take(length);
    if (likely < fields.size()) {
      byte[] name = fields.name(likely).utf8;
      if (Arrays.equals(in, begin, at, name, 0, name.length)) {
        return likely;
      }
    }
    return fields.index(text(begin));
  }

  @Override
  void unknownField() {}

  @Override
  byte[] readBytes() {
    long length =
        switch (form()) {
          case 0xc4 -> length(1);
          case 0xc5 -> length(2);
          case 0xc6 -> length(4);
          default -> throw unwanted("bytes");
        };
    int begin = take(length);
    return Arrays.copyOfRange(in, begin, at);
  }

  /** Takes an extension and returns where its data begin, which the next value follows. */
  private int extension(int form) {
    long length;
    if (0xd4 <= form && form <= 0xd8) {
      at++;
      length = 1L << (form - 0xd4);
    } else {
      length = length(1 << (form - 0xc7));
    }
    extensionType = in[take(1)];
    return take(length);
  }

  private static boolean isExtension(int form) {
    return (0xc7 <= form && form <= 0xc9) || (0xd4 <= form && form <= 0xd8);
  }

  @Override
  Instant readTime() {
    int form = form();
    if (!isExtension(form)) {
      throw unwanted("a time");
    }
    int begin = extension(form);
    if (extensionType != TIMESTAMP) {
      throw ValueException.unwanted("a time", "extension " + extensionType);
    }
    switch (at - begin) {
      case 4 -> {
        return Times.of((int) INT.get(in, begin) & 0xffffffffL, 0);
      }
      case 8 -> {
        long both = (long) LONG.get(in, begin);
        return Times.of(both & ((1L << 34) - 1), both >>> 34);
      }
      case 12 -> {
        return Times.of((long) LONG.get(in, begin + 4), (int) INT.get(in, begin) & 0xffffffffL);
      }
      default ->
          throw ValueException.unwanted("a time", "a timestamp of " + (at - begin) + " bytes");
    }
  }

  @Override
  long readDuration() {
    return readInteger(64);
  }

  @Override
  int beginArray() {
    int form = form();
    if ((form & 0xf0) == 0x90) {
      at++;
      return begin(form & 0x0f, 1);
    }
    return switch (form) {
      case 0xdc -> begin(length(2), 1);
      case 0xdd -> begin(length(4), 1);
      default -> throw unwanted(ValueException.AN_ARRAY);
    };
  }

  @Override
  int beginMap() {
    int form = form();
    if ((form & 0xf0) == 0x80) {
      at++;
      return begin(form & 0x0f, 2);
    }
    return switch (form) {
      case 0xde -> begin(length(2), 2);
      case 0xdf -> begin(length(4), 2);
      default -> throw unwanted("a map");
    };
  }

  /** Enters an array or map of elements that each take so many bytes at least. */
  private int begin(long elements, int least) {
    enter();
    if (elements * least > end - at) {
      throw ValueException.cutOff();
    }
    return (int) elements;
  }

  @Override
  boolean more(int left) {
    if (left == 0) {
      leave();
      return false;
    }
    return true;
  }

  @Override
  @Nullable Object readAny() {
    int form = form();
    if (isInteger(form)) {
      integer(form);
      return Whole.boxed(negative, magnitude);
    }
    if (isExtension(form)) {
      return readTime();
    }
    switch (form) {
      case NIL -> {
        at++;
        return null;
      }
      case 0xc2, 0xc3 -> {
        return readBoolean();
      }
      case 0xc4, 0xc5, 0xc6 -> {
        return readBytes();
      }
      case 0xca, 0xcb -> {
        return readDouble();
      }
      case 0xdc, 0xdd -> {
        return readAnyList();
      }
      case 0xde, 0xdf -> {
        return readAnyMap();
      }
      default -> {
        return form < 0x90 ? readAnyMap() : form < 0xa0 ? readAnyList() : readText();
      }
    }
  }

  @Override
  String readAnyKey() {
    int form = form();
    if (isInteger(form)) {
      integer(form);
      String digits = Long.toUnsignedString(magnitude);
      return negative ? "-" + digits : digits;
    }
    return readText();
  }

  @Override
  void skip() {
    int form = form();
    if (isInteger(form)) {
      integer(form);
    } else if (isExtension(form)) {
      extension(form);
    } else if ((form & 0xf0) == 0x90 || form == 0xdc || form == 0xdd) {
      for (int left = beginArray(); more(left); left--) {
        skip();
      }
    } else if (form < 0x90 || form == 0xde || form == 0xdf) {
      for (int left = beginMap(); more(left); left--) {
        skip();
        skip();
      }
    } else {
      skipLeaf(form);
    }
  }

  private void skipLeaf(int form) {
    switch (form) {
      case NIL, 0xc2, 0xc3 -> at++;
      case 0xc1 -> throw unwanted("");
      case 0xc4, 0xd9 -> take(length(1));
      case 0xc5, 0xda -> take(length(2));
      case 0xc6, 0xdb -> take(length(4));
      case 0xca -> take(5);
      case 0xcb -> take(9);
      default -> take(textLength());
    }
  }

  @Override
  void end() {
    if (at < end) {
      throw ValueException.behind();
    }
  }
}
