package io.trunkcall.internal.transport.http;

import java.util.LinkedHashSet;
import java.util.Set;

/** What of the answers on a connection has not left, and which of them wait for room. */
final class Room {
  private static final long MOST = 1 << 20; // bytes above which answers wait (limits.md 5)

  private final Http2Line line;
  private final Set<Http2Request> waiting = new LinkedHashSet<>(); // each once
  private long unsent;

  Room(Http2Line line) {
    this.line = line;
  }

  long unsent() {
    return unsent;
  }

  boolean full() {
    return unsent > MOST;
  }

  /** So many bytes more, or fewer, wait. */
  void add(int more) {
    boolean wasFull = full();
    unsent += more;
    if (wasFull && !full()) {
      waiting.addAll(line.requests().all());
    }
    if (more < 0 && !waiting.isEmpty()) {
      line.submit(this::give);
    }
  }

  /** An answer may go on. */
  void giveTo(Http2Request one) {
    waiting.add(one);
    line.submit(this::give);
  }

  private void give() {
    while (!full() && !waiting.isEmpty()) {
      Http2Request first = waiting.iterator().next();
      waiting.remove(first);
      first.room();
    }
  }
}
