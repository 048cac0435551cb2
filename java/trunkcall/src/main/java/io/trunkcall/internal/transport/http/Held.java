package io.trunkcall.internal.transport.http;

import io.trunkcall.internal.wire.Share;

/**
 * What one call holds of its connection's share of memory (limits.md 2), and the length of the
 * message that is being put together, which takes no memory until it comes.
 */
final class Held {
  private final HttpStream stream;
  private final HttpLine line;
  private final Share share;
  private long bytes;
  private long promised;

  Held(HttpStream stream) {
    this.stream = stream;
    this.line = stream.line();
    this.share = line.share();
  }

  /** The message under way is to have so many bytes; 0: none is under way. */
  void promise(long length) throws Refusal {
    if (!share.promises(length - promised)) {
      throw Refusal.full(
          "messages of this connection would exceed "
              + line.config().session().incompleteBytes()
              + " bytes");
    }
    promised = length;
    if (length > 0) {
      stream.expect(length);
    }
  }

  /** So many bytes more are to be held. Others that hold more may be ended for them. */
  void add(long more) throws Refusal {
    stream.held(more);
    if (!share.holds(more, stream)) {
      stream.held(-more);
      throw Refusal.full(line.config().load().memoryFull());
    }
    bytes += more;
  }

  /** So many bytes are not held any more. */
  void less(long less) {
    bytes -= less;
    stream.held(-less);
    share.letGo(less);
  }

  /** Nothing is held any more. */
  void clear() {
    share.promises(-promised);
    promised = 0;
    less(bytes);
  }
}
