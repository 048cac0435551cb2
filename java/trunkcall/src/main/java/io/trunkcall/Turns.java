package io.trunkcall;

import io.trunkcall.internal.transport.Loops;
import java.util.concurrent.Semaphore;

/**
 * How many messages are compressed or decompressed at once in the process (limits.md 2), and so the
 * memory that this takes: more would not be faster. An event loop does not wait for its turn, since
 * all its connections would: it takes one that is not there, and others get theirs later. There are
 * only so many loops.
 */
final class Turns {
  static final int ALL = Math.max(2, Runtime.getRuntime().availableProcessors());

  private static final Free FREE = new Free();

  private Turns() {}

  static void take() {
    if (Loops.onLoop()) {
      FREE.takeNow();
    } else {
      FREE.acquireUninterruptibly();
    }
  }

  static void end() {
    FREE.release();
  }

  /** About how many threads wait for a turn. */
  static int waiting() {
    return FREE.getQueueLength();
  }

  private static final class Free extends Semaphore {
    private static final long serialVersionUID = 1;

    Free() {
      super(ALL, true);
    }

    /** Takes one even if none is left. */
    void takeNow() {
      reducePermits(1);
    }
  }
}
