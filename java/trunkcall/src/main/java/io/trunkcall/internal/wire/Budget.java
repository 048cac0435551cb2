package io.trunkcall.internal.wire;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Bounds what all connections of one client or server hold in memory for their peers (limits.md 2):
 * messages that are not whole or not consumed, answers that wait, and output that was not written.
 * When it is full, the connection that holds most ends the call that it has held something of for
 * longest. Safe for use by several threads.
 */
final class Budget {
  /** The limit may be exceeded by this part of it while another connection is to let go. */
  private static final long OVERDRAFT = 4;

  final long limit;
  private final AtomicLong used = new AtomicLong();
  private final Set<Share> holders = ConcurrentHashMap.newKeySet(); // that have drawn something

  Budget(long limit) {
    this.limit = limit;
  }

  /** Bytes that connections have drawn. */
  long used() {
    return used.get();
  }

  /** What those are told for whom there is no memory. */
  String full() {
    return "messages and answers held would exceed memory " + limit;
  }

  boolean over() {
    return used.get() > limit;
  }

  /** Whether so much more fits, or would if others let go as they were asked to. */
  boolean fits(long more, boolean asked) {
    return used.get() + more <= limit + (asked ? limit / OVERDRAFT : 0);
  }

  void draw(Share share, long bytes) {
    used.addAndGet(bytes);
    holders.add(share);
  }

  void giveBack(Share share, long bytes, boolean all) {
    used.addAndGet(-bytes);
    if (all) {
      holders.remove(share);
    }
  }

  /** The part of the limit that each connection has which has drawn on it. */
  long part() {
    return limit / Math.max(holders.size(), 1);
  }

  /** The share that has taken most, with {@code more} bytes added to the asker's. */
  Share greatest(Share asker, long more) {
    Share greatest = asker;
    long most = asker.drawn() + more;
    for (Share share : holders) {
      long drawn = share.drawn();
      if (share != asker && drawn > most) {
        greatest = share;
        most = drawn;
      }
    }
    return greatest;
  }
}
