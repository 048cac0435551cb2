package io.trunkcall.internal.wire;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;

/**
 * What all sessions of one client or server share: running handlers and memory. Safe for use by
 * several threads.
 */
public final class Load {
  final AtomicInteger running = new AtomicInteger();
  final int runningLimit;
  final Budget budget;
  private final LongAdder refused = new LongAdder();
  private final LongAdder cutOff = new LongAdder();

  /** At most so many running handlers, and so many bytes of memory (limits.md 2). */
  public Load(int runningLimit, long memory) {
    this.runningLimit = runningLimit;
    this.budget = new Budget(memory);
  }

  /**
   * The share of a connection of another protocol, whose peer may promise {@code mostPromised}
   * bytes.
   */
  public Share share(Holder connection, long mostPromised) {
    return new Share(connection, budget, mostPromised);
  }

  /** What those are told for whom there is no memory. */
  public String memoryFull() {
    return budget.full();
  }

  /** A call has ended REFUSED, or else CUT. */
  public void count(boolean refused) {
    (refused ? this.refused : cutOff).increment();
  }

  /** Handlers that run now. */
  public int running() {
    return running.get();
  }

  /** Counts a handler that no session knows of, such as one of another protocol. */
  public boolean tryStart() {
    if (running.incrementAndGet() <= runningLimit) {
      return true;
    }
    running.decrementAndGet();
    return false;
  }

  /** A handler counted by {@link #tryStart} has returned. */
  public void returned() {
    running.decrementAndGet();
  }

  /** How many calls of peers were refused, ever. */
  public long refused() {
    return refused.sum();
  }

  /** How many calls of peers were cut, ever. */
  public long cutOff() {
    return cutOff.sum();
  }

  /** Bytes of memory that connections have drawn. */
  public long memoryUsed() {
    return budget.used();
  }
}
