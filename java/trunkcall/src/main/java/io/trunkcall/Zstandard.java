package io.trunkcall;

import com.github.luben.zstd.Zstd;
import com.github.luben.zstd.ZstdException;
import java.util.Arrays;

/** Messages in zstd (RFC 8878): one frame each, and nothing behind it (protocol.md 12). */
final class Zstandard implements Compression {
  static final Compression ZSTD = new Zstandard();

  private static final int LEVEL = 1;
  private static final int MAGIC = 0xFD2FB528;
  private static final int SINGLE_SEGMENT = 0x20; // of a frame's descriptor: no window is said
  private static final long LARGEST_WINDOW = 8 << 20; // limits.md 1
  private static final int FIRST = 64 << 10; // bytes of room for what came
  private static final long TOO_SMALL = 70; // libzstd's error for a target that is too short

  private Zstandard() {}

  @Override
  public String name() {
    return "zstd";
  }

  @Override
  public int number() {
    return 2;
  }

  @Override
  public void compress(byte[] array, int offset, int length, Output out) {
    int begin = out.length();
    out.ensure((int) Math.min(Zstd.compressBound(length), Integer.MAX_VALUE));
    int room = out.array().length - begin;
    long size = Zstd.compressByteArray(out.array(), begin, room, array, offset, length, LEVEL);
    out.length(begin + (int) size);
  }

  @Override
  public byte[] decompress(byte[] array, int offset, int length, long limit) {
    check(array, offset, length);
    // The size that a frame says is not believed: room grows with what came, and with what it is.
    long most = Math.min(limit, Integer.MAX_VALUE - 8);
    long size = Math.min(most, Math.max(FIRST, 8L * length));
    while (true) {
      byte[] made = new byte[(int) size];
      try {
        int got = (int) Zstd.decompressByteArray(made, 0, made.length, array, offset, length);
        return got == made.length ? made : Arrays.copyOf(made, got);
      } catch (ZstdException e) {
        if (e.getErrorCode() != TOO_SMALL) {
          throw e;
        }
      }
      if (size >= most) {
        throw new TooLongException();
      }
      size = Math.min(most, 4 * size);
    }
  }

  private static void check(byte[] array, int offset, int length) {
    int magic = 0;
    for (int i = 3; i >= 0; i--) {
      magic = magic << 8 | (i < length ? array[offset + i] & 0xFF : 0);
    }
    if (length < 6 || magic != MAGIC) {
      throw new IllegalArgumentException("it does not begin so");
    }
    if ((array[offset + 4] & SINGLE_SEGMENT) == 0) {
      int descriptor = array[offset + 5] & 0xFF;
      long base = 1L << (10 + (descriptor >> 3));
      long window = base + base / 8 * (descriptor & 7);
      if (window > LARGEST_WINDOW) {
        throw new IllegalArgumentException(
            String.format("its window is %,d bytes, more than %,d", window, LARGEST_WINDOW));
      }
    }
    long frame = Zstd.findFrameCompressedSize(array, offset, length);
    if (Zstd.isError(frame)) {
      throw new IllegalArgumentException("it is cut short or damaged");
    }
    if (frame != length) {
      throw new IllegalArgumentException("there are bytes behind it");
    }
  }
}
