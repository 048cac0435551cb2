package io.trunkcall;

import java.util.concurrent.atomic.AtomicLong;

/** What the observers of a client or server were not told of. Any thread. */
final class DroppedEvents {
  private final Journal journal = new Journal();
  private final AtomicLong count = new AtomicLong();

  void add() {
    long soFar = count.incrementAndGet();
    journal.log(System.Logger.Level.WARNING, "observer events dropped", soFar + " so far", null);
  }

  long sum() {
    return count.get();
  }
}
