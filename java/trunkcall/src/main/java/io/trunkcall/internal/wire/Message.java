package io.trunkcall.internal.wire;

import java.util.Arrays;

/** A whole message of a stream, as received. */
public final class Message {
  private final byte[] array;
  private final int length;
  private final int compression;
  // Credit owed to the peer once the message is consumed: of the window, of the pool.
  long cost;
  long pooled;

  /** These bytes. */
  public Message(byte[] bytes, int compression) {
    this(bytes, bytes.length, compression);
  }

  /** The first bytes of an array. */
  Message(byte[] array, int length, int compression) {
    this.array = array;
    this.length = length;
    this.compression = compression;
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

  /** The number of the compression that it is in; 0: none. */
  public int compression() {
    return compression;
  }
}
