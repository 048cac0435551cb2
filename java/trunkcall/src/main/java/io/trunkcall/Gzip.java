package io.trunkcall;

import java.io.ByteArrayInputStream;
import java.util.Arrays;
import java.util.zip.CRC32;
import java.util.zip.DataFormatException;
import java.util.zip.Deflater;
import java.util.zip.Inflater;

/** Messages in gzip (RFC 1952): one member each, and nothing behind it (protocol.md 12). */
final class Gzip implements Compression {
  static final Compression GZIP = new Gzip();

  private static final int HEADER = 10;
  private static final int TRAILER = 8;
  private static final int FLAG_CHECK = 2;
  private static final int FLAG_EXTRA = 4;
  private static final int FLAG_NAME = 8;
  private static final int FLAG_COMMENT = 16;

  private Gzip() {}

  @Override
  public String name() {
    return "gzip";
  }

  @Override
  public int number() {
    return 1;
  }

  @Override
  public void compress(byte[] array, int offset, int length, Output out) {
    byte[] header = new byte[HEADER];
    header[0] = 0x1F;
    header[1] = (byte) 0x8B;
    header[2] = 8;
    header[9] = (byte) 0xFF; // made by nobody knows what system
    out.write(header, 0, HEADER);
    Deflater deflater = new Deflater(Deflater.BEST_SPEED, true);
    try {
      deflater.setInput(array, offset, length);
      deflater.finish();
      while (!deflater.finished()) {
        out.ensure(Math.max(length / 4, 512));
        int begin = out.length();
        int size = deflater.deflate(out.array(), begin, out.array().length - begin);
        out.length(begin + size);
      }
    } finally {
      deflater.end();
    }
    CRC32 check = new CRC32();
    check.update(array, offset, length);
    byte[] trailer = new byte[TRAILER];
    put(trailer, 0, (int) check.getValue());
    put(trailer, 4, length);
    out.write(trailer, 0, TRAILER);
  }

  /** What it says of its length is not believed. */
  @Override
  public byte[] decompress(byte[] array, int offset, int length, long limit) {
    int begin = body(array, offset, length);
    Inflater inflater = new Inflater(true);
    try {
      inflater.setInput(array, begin, offset + length - begin);
      byte[] made = inflated(inflater, length, limit);
      int behind = inflater.getRemaining();
      int trailer = offset + length - behind;
      if (behind != TRAILER) {
        throw new IllegalArgumentException(
            behind < TRAILER ? "it ends too early" : "there are bytes behind it");
      }
      CRC32 check = new CRC32();
      check.update(made);
      if (get(array, trailer) != (int) check.getValue() || get(array, trailer + 4) != made.length) {
        throw new IllegalArgumentException("its checksum is wrong");
      }
      return made;
    } catch (DataFormatException e) {
      throw new IllegalArgumentException(e.getMessage(), e);
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
            throw new TooLongException();
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
        throw new IllegalArgumentException("it ends too early");
      }
    }
    return Arrays.copyOf(made, size);
  }

  /** Where the compressed bytes begin. */
  private static int body(byte[] array, int offset, int length) {
    ByteArrayInputStream in = new ByteArrayInputStream(array, offset, length);
    if (in.read() != 0x1F || in.read() != 0x8B || in.read() != 8) {
      throw new IllegalArgumentException("it does not begin so");
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
      throw new IllegalArgumentException("it ends too early");
    }
    return offset + length - in.available();
  }

  private static void skip(ByteArrayInputStream in, int count) {
    if (count < 0 || in.skip(count) != count) {
      throw new IllegalArgumentException("it ends too early");
    }
  }

  private static void skipText(ByteArrayInputStream in) {
    for (int one = in.read(); one != 0; one = in.read()) {
      if (one < 0) {
        throw new IllegalArgumentException("it ends too early");
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
