package io.trunkcall.codefirst;

import io.trunkcall.Output;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.time.Instant;

/** Writes MessagePack, each value in its shortest form. */
final class PackWriter extends ValueWriter {
  private static final VarHandle SHORT = view(short[].class);
  private static final VarHandle INT = view(int[].class);
  private static final VarHandle LONG = view(long[].class);

  /** The one NaN of code-first.md 3.1. */
  private static final long NAN = 0x7ff8000000000000L;

  private final Output out;

  PackWriter(Output out) {
    this.out = out;
  }

  private static VarHandle view(Class<?> of) {
    return MethodHandles.byteArrayViewVarHandle(of, ByteOrder.BIG_ENDIAN);
  }

  /** Makes room for so many bytes, which the caller writes, and returns where they go. */
  private int take(int bytes) {
    out.ensure(bytes);
    int at = out.length();
    out.length(at + bytes);
    return at;
  }

  private void put(int form) {
    int at = take(1); // which may make another array
    out.array()[at] = (byte) form;
  }

  private void put8(int form, int value) {
    int at = take(2);
    out.array()[at] = (byte) form;
    out.array()[at + 1] = (byte) value;
  }

  private void put16(int form, int value) {
    int at = take(3);
    out.array()[at] = (byte) form;
    SHORT.set(out.array(), at + 1, (short) value);
  }

  private void put32(int form, int value) {
    int at = take(5);
    out.array()[at] = (byte) form;
    INT.set(out.array(), at + 1, value);
  }

  private void put64(int form, long value) {
    int at = take(9);
    out.array()[at] = (byte) form;
    LONG.set(out.array(), at + 1, value);
  }

  /** The header of what has a length: in the first byte up to {@code least}, or behind it. */
  private void header(int length, int fixed, int least, int form8, int form16) {
    if (length <= least) {
      put(fixed | length);
    } else if (form8 != 0 && length < 1 << 8) {
      put8(form8, length);
    } else if (length < 1 << 16) {
      put16(form16, length);
    } else {
      put32(form16 + 1, length);
    }
  }

  @Override
  void writeNull() {
    put(0xc0);
  }

  @Override
  void writeBoolean(boolean value) {
    put(value ? 0xc3 : 0xc2);
  }

  @Override
  void writeInteger(long value) {
    if (value >= 0) {
      writeUnsigned(value);
    } else if (value >= -32) {
      put((int) value);
    } else if (value >= Byte.MIN_VALUE) {
      put8(0xd0, (int) value);
    } else if (value >= Short.MIN_VALUE) {
      put16(0xd1, (int) value);
    } else if (value >= Integer.MIN_VALUE) {
      put32(0xd2, (int) value);
    } else {
      put64(0xd3, value);
    }
  }

  @Override
  void writeUnsigned(long value) {
    if (value >>> 32 != 0) {
      put64(0xcf, value);
    } else if (value >= 1 << 16) {
      put32(0xce, (int) value);
    } else if (value >= 1 << 8) {
      put16(0xcd, (int) value);
    } else if (value >= 1 << 7) {
      put8(0xcc, (int) value);
    } else {
      put((int) value);
    }
  }

  @Override
  void writeFloat(float value) {
    put32(0xca, Float.floatToIntBits(value));
  }

  @Override
  void writeDouble(double value) {
    put64(0xcb, Double.isNaN(value) ? NAN : Double.doubleToRawLongBits(value));
  }

  @Override
  void writeText(String value) {
    long length = Utf8.length(value);
    if (length < 0) {
      throw ValueException.notUtf8();
    }
    if (length > Integer.MAX_VALUE) {
      throw ValueException.bad("want text of at most 2 GiB, got more");
    }
    header((int) length, 0xa0, 31, 0xd9, 0xda);
    if (length == value.length()) {
      int at = take((int) length);
      byte[] array = out.array();
      for (int i = 0; i < length; i++) {
        array[at + i] = (byte) value.charAt(i);
      }
    } else {
      byte[] utf8 = value.getBytes(StandardCharsets.UTF_8);
      out.write(utf8, 0, utf8.length);
    }
  }

  @Override
  void writeName(FieldName name) {
    header(name.utf8.length, 0xa0, 31, 0xd9, 0xda);
    out.write(name.utf8, 0, name.utf8.length);
  }

  @Override
  void writeBytes(byte[] value) {
    header(value.length, 0, -1, 0xc4, 0xc5);
    out.write(value, 0, value.length);
  }

  @Override
  void writeTime(Instant value) {
    Times.check(value);
    long seconds = value.getEpochSecond();
    int nanoseconds = value.getNano();
    if (seconds >>> 34 != 0) { // or before the epoch
      put16(0xc7, 12 << 8 | 0xff);
      int at = take(12);
      INT.set(out.array(), at, nanoseconds);
      LONG.set(out.array(), at + 4, seconds);
      return;
    }
    long both = (long) nanoseconds << 34 | seconds;
    if (both >>> 32 != 0) {
      put8(0xd7, 0xff);
      int at = take(8);
      LONG.set(out.array(), at, both);
    } else {
      put8(0xd6, 0xff);
      int at = take(4);
      INT.set(out.array(), at, (int) both);
    }
  }

  @Override
  void writeDuration(long nanoseconds) {
    writeInteger(nanoseconds);
  }

  @Override
  void beginArray(int elements) {
    enter();
    header(elements, 0x90, 15, 0, 0xdc);
  }

  @Override
  void endArray() {
    leave();
  }

  @Override
  void beginMap(int entries) {
    enter();
    header(entries, 0x80, 15, 0, 0xde);
  }

  @Override
  void endMap() {
    leave();
  }

  @Override
  void key() {}
}
