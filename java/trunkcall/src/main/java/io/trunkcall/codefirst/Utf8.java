package io.trunkcall.codefirst;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/** Whether bytes are UTF-8 and text has any: Java's own conversions replace what is not. */
final class Utf8 {
  private static final VarHandle LONGS =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);
  private static final long HIGH_BITS = 0x8080808080808080L;

  private Utf8() {}

  /** Where the first byte that is no ASCII character lies, or the end. */
  static int endOfAscii(byte[] array, int from, int end) {
    int i = from;
    while (i + 8 <= end && ((long) LONGS.get(array, i) & HIGH_BITS) == 0) {
      i += 8;
    }
    while (i < end && array[i] >= 0) {
      i++;
    }
    return i;
  }

  static boolean isValid(byte[] array, int from, int end) {
    int i = from;
    while ((i = endOfAscii(array, i, end)) < end) {
      int length = sequence(array, i, end);
      if (length == 0) {
        return false;
      }
      i += length;
    }
    return true;
  }

  /** The length of the sequence of two to four bytes at i, or 0 if there is none. */
  private static int sequence(byte[] array, int i, int end) {
    int first = array[i] & 0xff;
    int second = i + 1 < end ? array[i + 1] & 0xff : 0;
    if (0xc2 <= first && first <= 0xdf) {
      return continues(second) ? 2 : 0;
    }
    if (0xe0 <= first && first <= 0xef) {
      boolean fits =
          first == 0xe0 ? second >= 0xa0 : first != 0xed || second < 0xa0; // overlong, surrogates
      return fits && continues(second) && continuesAt(array, i + 2, end) ? 3 : 0;
    }
    if (0xf0 <= first && first <= 0xf4) {
      boolean fits =
          first == 0xf0 ? second >= 0x90 : first != 0xf4 || second < 0x90; // overlong, too large
      return fits
              && continues(second)
              && continuesAt(array, i + 2, end)
              && continuesAt(array, i + 3, end)
          ? 4
          : 0;
    }
    return 0;
  }

  private static boolean continuesAt(byte[] array, int i, int end) {
    return i < end && continues(array[i] & 0xff);
  }

  private static boolean continues(int b) {
    return (b & 0xc0) == 0x80;
  }

  /** How many bytes of UTF-8 a text has, or -1 if it has an unpaired surrogate. */
  static long length(String text) {
    int n = text.length();
    long length = n;
    int i = 0;
    while (i < n) {
      char c = text.charAt(i++);
      if (c < 0x80) {
        continue;
      }
      if (!Character.isSurrogate(c)) {
        length += c < 0x800 ? 1 : 2;
        continue;
      }
      if (Character.isLowSurrogate(c) || i == n || !Character.isLowSurrogate(text.charAt(i))) {
        return -1;
      }
      i++;
      length += 2; // four bytes for two characters
    }
    return length;
  }
}
