package io.trunkcall;

import java.io.ByteArrayInputStream;
import java.util.Arrays;
import java.util.zip.CRC32;
import java.util.zip.DataFormatException;
import java.util.zip.Deflater;
import java.util.zip.Inflater;
import org.jspecify.annotations.Nullable;

/** Messages in gzip (RFC 1952): one member each, and nothing behind it (protocol.md 12). */
final class Gzip {
  /** Its number (protocol.md 3.8). */
  static final int NUMBER = 1;

  private static final int SHORTEST = 1_024; // message that is compressed (limits.md 2)
  private static final int HEADER = 10;
  private static final int TRAILER = 8;
  private static final int FLAG_CHECK = 2;
  private static final int FLAG_EXTRA = 4;
  private static final int FLAG_NAME = 8;
  private static final int FLAG_COMMENT = 16;

  private Gzip() {}

  /** A message compressed; null if that is not worth it. */
  static @Nullable Output packed(Output plain) {
    int length = plain.length();
    if (length < SHORTEST) {
      return null;
    }
    int most = length - length / 8; // it has to save an eighth
    Output out = new Output();
    out.ensure(most);
    byte[] array = out.array();
    array[0] = 0x1F;
    array[1] = (byte) 0x8B;
    array[2] = 8;
    array[9] = (byte) 0xFF; // made by nobody knows what system
    Deflater deflater = new Deflater(Deflater.BEST_SPEED, true);
    try {
      deflater.setInput(plain.array(), 0, length);
      deflater.finish();
      int size = deflater.deflate(array, HEADER, most - HEADER - TRAILER);
      if (!deflater.finished()) {
        return null;
      }
      CRC32 check = new CRC32();
      check.update(plain.array(), 0, length);
      put(array, HEADER + size, (int) check.getValue());
      put(array, HEADER + size + 4, length);
      out.length(HEADER + size + TRAILER);
      return out;
    } finally {
      deflater.end();
    }
  }

  /**
   * A message as it was before. What it says of its length is not believed.
   *
   * @throws StatusException RESOURCE_EXHAUSTED, for one that is longer than {@code limit}
   * @throws IllegalArgumentException for what is no member of gzip, or has bytes behind it
   */
  static byte[] unpacked(byte[] array, int offset, int length, long limit) {
    int begin = body(array, offset, length);
    Inflater inflater = new Inflater(true);
    try {
      inflater.setInput(array, begin, offset + length - begin);
      byte[] made = inflated(inflater, length, limit);
      int behind = inflater.getRemaining();
      int trailer = offset + length - behind;
      if (behind != TRAILER) {
        throw new IllegalArgumentException(
            behind < TRAILER ? "gzip: it ends too early" : "gzip: there are bytes behind it");
      }
      CRC32 check = new CRC32();
      check.update(made);
      if (get(array, trailer) != (int) check.getValue() || get(array, trailer + 4) != made.length) {
        throw new IllegalArgumentException("gzip: its checksum is wrong");
      }
      return made;
    } catch (DataFormatException e) {
      throw new IllegalArgumentException("gzip: " + e.getMessage(), e);
    } finally {
      inflater.end();
    }
  }

  private static byte[] inflated(Inflater inflater, int packed, long limit)
      throws DataFormatException {
    long first = Math.min(limit, Math.max(4L * packed, 64));
    byte[] made = new byte[(int) Math.min(first, 1 << 20)];
    int size = 0;
    while (!inflater.finished()) {
      if (size == made.length) {
        if (size >= limit) {
          if (inflater.inflate(new byte[1]) > 0) {
            throw new StatusException(
                Code.RESOURCE_EXHAUSTED,
                String.format("it is longer than max_message %,d when decompressed", limit));
          }
        } else {
          made = Arrays.copyOf(made, (int) Math.min(limit, 2L * made.length));
        }
      }
      int more = inflater.inflate(made, size, made.length - size);
      size += more;
      if (more == 0
          && !inflater.finished()
          && (inflater.needsInput() || inflater.needsDictionary())) {
        throw new IllegalArgumentException("gzip: it ends too early");
      }
    }
    return Arrays.copyOf(made, size);
  }

  /** Where the compressed bytes begin. */
  private static int body(byte[] array, int offset, int length) {
    ByteArrayInputStream in = new ByteArrayInputStream(array, offset, length);
    if (in.read() != 0x1F || in.read() != 0x8B || in.read() != 8) {
      throw new IllegalArgumentException("gzip: it does not begin so");
    }
    int flags = in.read();
    skip(in, 6);
    if ((flags & FLAG_EXTRA) != 0) {
      int low = in.read();
      skip(in, low | in.read() << 8);
    }
    if ((flags & FLAG_NAME) != 0) {
      skipText(in);
    }
    if ((flags & FLAG_COMMENT) != 0) {
      skipText(in);
    }
    if ((flags & FLAG_CHECK) != 0) {
      skip(in, 2);
    }
    if (flags < 0 || in.available() < TRAILER) {
      throw new IllegalArgumentException("gzip: it ends too early");
    }
    return offset + length - in.available();
  }

  private static void skip(ByteArrayInputStream in, int count) {
    if (count < 0 || in.skip(count) != count) {
      throw new IllegalArgumentException("gzip: it ends too early");
    }
  }

  private static void skipText(ByteArrayInputStream in) {
    for (int one = in.read(); one != 0; one = in.read()) {
      if (one < 0) {
        throw new IllegalArgumentException("gzip: it ends too early");
      }
    }
  }

  private static void put(byte[] array, int at, int value) {
    for (int i = 0; i < 4; i++) {
      array[at + i] = (byte) (value >>> 8 * i);
    }
  }

  private static int get(byte[] array, int at) {
    int value = 0;
    for (int i = 0; i < 4; i++) {
      value |= (array[at + i] & 0xFF) << 8 * i;
    }
    return value;
  }
}
