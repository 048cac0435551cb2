package io.trunkcall;

/**
 * Makes messages smaller on their way (spec/protocol.md 12). Used by as many threads at once as
 * there are processors, at least 2, and by event loops besides; it must not wait for anything, such
 * as calls.
 */
public interface Compression {
  /** Its name, for people. */
  String name();

  /** Its number on the wire (spec/protocol.md 3.8): 1 gzip, 2 zstd. There are no others. */
  int number();

  /**
   * Appends a message, compressed. The message is sent as it is when this throws. Both arrays
   * belong to others once the function has returned.
   */
  void compress(byte[] array, int offset, int length, Output out);

  /**
   * What {@code length} bytes hold, at most {@code limit} bytes, in an array of its own. What they
   * say of that length must not make it allocate.
   *
   * @throws TooLongException when it is more
   * @throws RuntimeException for what is cut short, damaged or followed by anything
   */
  byte[] decompress(byte[] array, int offset, int length, long limit);

  /** gzip (RFC 1952) at its fastest level; a message is one member. */
  static Compression gzip() {
    return Gzip.GZIP;
  }

  /**
   * zstd (RFC 8878) at its fastest level; a message is one frame without a dictionary, whose window
   * is 8 MiB at most.
   *
   * @throws UnsupportedOperationException without the library {@code com.github.luben:zstd-jni},
   *     which a program that uses this has to depend on, and where its native part, which it has
   *     for many systems, cannot be loaded
   */
  static Compression zstd() {
    if (!Packing.NO_ZSTD.isEmpty()) {
      throw new UnsupportedOperationException(Packing.NO_ZSTD);
    }
    return Zstandard.ZSTD;
  }

  /** A message is longer than the limit when decompressed. */
  final class TooLongException extends RuntimeException {
    private static final long serialVersionUID = 1;

    /** Its text is made by whoever knows the limit's name. */
    public TooLongException() {
      super("it is too long when decompressed", null, false, false);
    }
  }
}
