package io.trunkcall.internal.wire;

import java.util.Arrays;

/** A whole message of a stream, as received. */
public final class Message {
  /** How many bytes may be taken ahead of who receives, where the session counts them. */
  public static final int AHEAD = 256 << 10;

  private final byte[] array;
  private final int length;
  private final int compression;
  private final boolean own;
  // Credit owed to the peer once the message is consumed: of the window, of the pool.
  long cost;
  long pooled;

  /** These bytes. */
  public Message(byte[] bytes, int compression) {
    this(bytes, bytes.length, compression, false);
  }

  /** The first bytes of an array; {@code own}: which nobody else has. */
  Message(byte[] array, int length, int compression, boolean own) {
    this.array = array;
    this.length = length;
    this.compression = compression;
    this.own = own;
  }

  /** What holds its bytes, from index 0 on. It belongs to the one who has taken the message. */
  public byte[] array() {
    return array;
  }

  /** How many bytes of {@link #array} there are. */
  public int length() {
    return length;
  }

  /** Its bytes, which belong to the one who has taken the message. */
  public byte[] bytes() {
    return array.length == length ? array : Arrays.copyOf(array, length);
  }

  /** Whether nobody else has its array, which may be used again once the message was decoded. */
  public boolean own() {
    return own;
  }

  /** The number of the compression that it is in; 0: none. */
  public int compression() {
    return compression;
  }
}
