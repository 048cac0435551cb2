package io.trunkcall.internal.wire;

import java.util.Arrays;

/** Bytes that are put together: blocks, payloads and prefaces. */
final class ByteBuilder {
  private byte[] array = new byte[64];
  private int length;

  int length() {
    return length;
  }

  ByteBuilder octet(int value) {
    reserve(1);
    array[length++] = (byte) value;
    return this;
  }

  /** A number of 16 bits. */
  ByteBuilder u16(int value) {
    return octet(value).octet(value >> 8);
  }

  /** A number of 32 bits. */
  ByteBuilder u32(long value) {
    return u16((int) value & 0xFFFF).u16((int) (value >> 16) & 0xFFFF);
  }

  ByteBuilder varint(long value) {
    reserve(5);
    length = Varint.write(array, length, value);
    return this;
  }

  ByteBuilder bytes(byte[] bytes) {
    return bytes(bytes, bytes.length);
  }

  /** The first {@code count} of these bytes. */
  ByteBuilder bytes(byte[] bytes, int count) {
    reserve(count);
    System.arraycopy(bytes, 0, array, length, count);
    length += count;
    return this;
  }

  /** The bytes with their length ahead of them. */
  ByteBuilder counted(byte[] bytes) {
    return varint(bytes.length).bytes(bytes);
  }

  byte[] build() {
    return Arrays.copyOf(array, length);
  }

  private void reserve(int more) {
    if (array.length - length < more) {
      array = Arrays.copyOf(array, Math.max(array.length * 2, length + more));
    }
  }
}
