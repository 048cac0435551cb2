package io.trunkcall;

import io.trunkcall.internal.wire.LargeArrays;
import java.util.Arrays;

/** Bytes that a codec appends a message to. Grows as needed; used by one thread. */
public final class Output {
  private static final byte[] NONE = {};

  private byte[] array = NONE;
  private int length;
  int compression; // number of the one that its bytes are in; 0: none

  /** Without bytes. */
  public Output() {}

  /**
   * What holds the bytes, from index 0 on; anything may lie behind them. Another one after {@link
   * #ensure} or a write. A codec or a compression may not keep it once it has returned: large ones
   * are used again for other messages.
   */
  public byte[] array() {
    return array;
  }

  /** How many bytes of {@link #array} there are. */
  public int length() {
    return length;
  }

  /** Says how many bytes there are, after some were put into {@link #array} directly. */
  public void length(int length) {
    if (length < 0 || length > array.length) {
      throw new IndexOutOfBoundsException("length " + length + " of " + array.length);
    }
    this.length = length;
  }

  /** Makes room for {@code more} bytes behind those that there are. */
  public void ensure(int more) {
    if (more < 0) {
      throw new IllegalArgumentException("room for " + more + " bytes");
    }
    if (array.length - length >= more) {
      return;
    }
    long wanted = (long) length + more;
    if (wanted > Integer.MAX_VALUE - 8) {
      throw new IllegalStateException("a message of " + wanted + " bytes");
    }
    byte[] used =
        length > 0 || wanted < LargeArrays.LEAST ? null : LargeArrays.shared().take(wanted);
    if (used != null) {
      array = used;
      return;
    }
    long grown = length == 0 ? wanted : Math.max(wanted, 2L * array.length);
    array = Arrays.copyOf(array, (int) Math.min(grown, Integer.MAX_VALUE - 8));
  }

  /** Appends one byte, the low eight bits of {@code one}. */
  public void write(int one) {
    if (length == array.length) {
      ensure(length == 0 ? 64 : 1);
    }
    array[length++] = (byte) one;
  }

  /** Appends bytes. */
  public void write(byte[] from, int offset, int count) {
    ensure(count);
    System.arraycopy(from, offset, array, length, count);
    length += count;
  }
}
