package io.trunkcall;

import java.util.concurrent.Semaphore;

/**
 * How many messages are compressed or decompressed at once in the process (limits.md 2), and so the
 * memory that this takes: more would not be faster. Whoever has a turn waits for nothing, so that
 * event loops may wait for one too.
 */
final class Turns {
  static final int ALL = Math.max(2, Runtime.getRuntime().availableProcessors());

  private static final Semaphore FREE = new Semaphore(ALL, true);

  private Turns() {}

  static void take() {
    FREE.acquireUninterruptibly();
  }

  static void end() {
    FREE.release();
  }

  /** About how many threads wait for a turn. */
  static int waiting() {
    return FREE.getQueueLength();
  }
}
