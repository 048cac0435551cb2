package io.trunkcall.internal.wire;

/** A whole message of a stream, as received. */
public final class Message {
  private final byte[] bytes;
  private final int compression;
  // Credit owed to the peer once the message is consumed: of the window, of the pool.
  long cost;
  long pooled;

  /** These bytes. */
  public Message(byte[] bytes, int compression) {
    this.bytes = bytes;
    this.compression = compression;
  }

  /** Its bytes, which belong to the one who has taken the message. */
  public byte[] bytes() {
    return bytes;
  }

  /** The number of the compression that it is in; 0: none. */
  public int compression() {
    return compression;
  }
}
