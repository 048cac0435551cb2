package io.trunkcall;

import io.trunkcall.internal.wire.LargeArrays;

/** A codec whose messages may lie in the bytes that they came in, so that those are not copied. */
interface InPlaceCodec<T> extends Codec<T> {
  /** The message that the first bytes of an array are. Nobody else has it, or changes it. */
  T decodeInPlace(byte[] array, int length);

  /** The same by any codec. Arrays that are used again for other messages are no message's. */
  static <T> T decoded(Codec<T> codec, byte[] array, int length) {
    return array.length < LargeArrays.LEAST && codec instanceof InPlaceCodec<T> inPlace
        ? inPlace.decodeInPlace(array, length)
        : codec.decode(array, 0, length);
  }
}
