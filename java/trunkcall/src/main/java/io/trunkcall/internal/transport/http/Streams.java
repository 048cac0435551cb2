package io.trunkcall.internal.transport.http;

import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Exception;

/** The streams that were closed last: what a header on one that is not open means. */
final class Streams {
  private static final int KEPT = 256;

  private final int[] over = new int[KEPT]; // both sides had ended them
  private final int[] reset = new int[KEPT]; // this side had reset them
  private int nextOver;
  private int nextReset;

  void ended(int id) {
    over[nextOver++ % KEPT] = id;
  }

  void reset(int id) {
    reset[nextReset++ % KEPT] = id;
  }

  /**
   * A header has come on a stream that is not open, below those that were.
   *
   * @throws Http2Exception unless its peer may not have known that it was reset
   */
  void header(int id) throws Http2Exception {
    if (has(reset, id)) {
      return;
    }
    if (has(over, id)) {
      throw Http2Exception.connectionError(
          Http2Error.STREAM_CLOSED, "HEADERS on stream %d, which is closed", id);
    }
    throw Http2Exception.connectionError(
        Http2Error.PROTOCOL_ERROR, "HEADERS on stream %d, below those that were opened", id);
  }

  private static boolean has(int[] ids, int id) {
    for (int one : ids) {
      if (one == id) {
        return true;
      }
    }
    return false;
  }
}
