package io.trunkcall.internal.transport.http;

import io.trunkcall.internal.wire.UnderWay;

/**
 * What of an answer has not left, and how long its first message has been leaving. Messages leave
 * one after the other: the time of each begins when the one before has left.
 */
final class Leaving {
  /** Bytes of a piece: the progress of a long message is seen by its pieces. */
  static final int PIECE = 64 << 10;

  private final UnderWay first = new UnderWay();
  private long unsent;

  long unsent() {
    return unsent;
  }

  /** A piece is to leave. */
  void add(int size, long now) {
    if (unsent == 0) {
      first.begin(now);
    }
    unsent += size;
  }

  /** A piece has left, with which its message ends, or not. */
  void left(int size, boolean last, long now) {
    unsent -= size;
    first.pass(size);
    if (last) {
      first.begin(now);
    }
  }

  boolean late(long now) {
    return unsent > 0 && first.late(now);
  }
}
