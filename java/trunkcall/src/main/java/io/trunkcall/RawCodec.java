package io.trunkcall;

import java.util.Arrays;

final class RawCodec implements InPlaceCodec<byte[]> {
  static final RawCodec RAW = new RawCodec();

  private RawCodec() {}

  @Override
  public int number() {
    return 0;
  }

  @Override
  public String name() {
    return "raw";
  }

  @Override
  public void encode(byte[] message, Output out) {
    out.write(message, 0, message.length);
  }

  @Override
  public byte[] decode(byte[] array, int offset, int length) {
    return Arrays.copyOfRange(array, offset, offset + length);
  }

  @Override
  public byte[] decodeInPlace(byte[] array, int length) {
    return array.length == length ? array : decode(array, 0, length);
  }

  @Override
  public String toString() {
    return "raw bytes";
  }
}
