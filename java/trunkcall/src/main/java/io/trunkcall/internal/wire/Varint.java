package io.trunkcall.internal.wire;

/**
 * Varints (protocol.md 1.3): at most five bytes, below 2^32, the shortest form only.
 *
 * <p>What {@link #read} gives holds the value and the offset behind it in one number, so that
 * nothing is allocated.
 */
final class Varint {
  /** What cannot be read before the end. */
  static final long UNREADABLE = -1;

  private Varint() {}

  /**
   * The varint at {@code at}, {@link #UNREADABLE} if it is malformed or not whole before the end.
   */
  static long read(byte[] array, int at, int end) {
    long value = 0;
    int next = at;
    for (int shift = 0; shift < 35 && next < end; shift += 7) {
      int octet = array[next++];
      value |= (long) (octet & 0x7F) << shift;
      if (octet >= 0) {
        boolean legal = (octet != 0 || shift == 0) && value <= 0xFFFFFFFFL;
        return legal ? value << 32 | next : UNREADABLE;
      }
    }
    return UNREADABLE;
  }

  /** The value of what was read. */
  static long value(long read) {
    return read >>> 32;
  }

  /** The offset behind what was read. */
  static int next(long read) {
    return (int) read;
  }

  /** How many bytes a value takes. */
  static int size(long value) {
    int size = 1;
    for (long left = value >>> 7; left != 0; left >>>= 7) {
      size++;
    }
    return size;
  }

  /** Writes a value at {@code at} and gives the offset behind it. */
  static int write(byte[] array, int at, long value) {
    if (value < 0 || value > 0xFFFFFFFFL) {
      throw new IllegalArgumentException(value + " does not fit into a varint");
    }
    int next = at;
    long left = value;
    while (left >= 0x80) {
      array[next++] = (byte) (left | 0x80);
      left >>>= 7;
    }
    array[next++] = (byte) left;
    return next;
  }
}
