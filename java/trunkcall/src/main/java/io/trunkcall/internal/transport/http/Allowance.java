package io.trunkcall.internal.transport.http;

import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Exception;
import java.util.function.LongSupplier;

/**
 * Frames that cost work and are of no use use up an allowance; content, in either direction, and
 * answers earn it back, and so does time, slowly (limits.md 5).
 */
final class Allowance {
  static final int FOR_DATA = 4;
  static final int FOR_ANSWER = 8;
  static final int MOST_FORFEIT = 64; // of what a request has earned that its peer then has reset

  private static final int MOST = 4_096;
  private static final long EACH = 1_000; // µs in which one comes back

  private int left = MOST;
  private final LongSupplier clock;
  private long since;

  /** One that is whole, by this clock of µs. */
  Allowance(LongSupplier clock) {
    this.clock = clock;
    this.since = clock.getAsLong();
  }

  void earn(int some) {
    left = Math.min(left + some, MOST);
  }

  /** Takes from it for something that was read. */
  void spend(int some, String what) throws Http2Exception {
    long earned = (clock.getAsLong() - since) / EACH;
    if (earned > 0) {
      since += earned * EACH;
      earn((int) Math.min(earned, MOST));
    }
    left -= some;
    if (left < 0) {
      throw Http2Exception.connectionError(
          Http2Error.ENHANCE_YOUR_CALM,
          "too many frames without use (%s): more than %d at once",
          what,
          MOST);
    }
  }
}
