package io.trunkcall.lab.echo;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * A frame is the length of the payload, the number of the caller on its connection, 32 bits each,
 * little-endian, and the payload.
 */
final class Frame {
  static final int HEADER = 8;

  private Frame() {}

  static byte[] of(int caller, byte[] payload) {
    return ByteBuffer.allocate(HEADER + payload.length)
        .order(ByteOrder.LITTLE_ENDIAN)
        .putInt(payload.length)
        .putInt(caller)
        .put(payload)
        .array();
  }
}
