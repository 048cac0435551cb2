package io.trunkcall.internal.transport;

import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/** Lets at most so many at a time do something; the others wait in order. For any thread. */
public final class Turns {
  /** Connections to an endpoint that are opened at a time (limits.md 2). */
  public static final int OF_ENDPOINT = 64;

  private final ReentrantLock lock = new ReentrantLock();
  private final Queue<Runnable> waiting = new ArrayDeque<>();
  private int free;

  /** At most {@code most} at a time. */
  public Turns(int most) {
    free = most;
  }

  /** Runs {@code begin} once it is its turn: now, or in {@link #leave} of another. */
  void enter(Runnable begin) {
    lock.lock();
    try {
      if (free == 0) {
        waiting.add(begin);
        return;
      }
      free--;
    } finally {
      lock.unlock();
    }
    begin.run();
  }

  /** Ends a turn. */
  void leave() {
    @Nullable Runnable next;
    lock.lock();
    try {
      next = waiting.poll();
      if (next == null) {
        free++;
      }
    } finally {
      lock.unlock();
    }
    if (next != null) {
      next.run();
    }
  }
}
