package io.trunkcall;

import java.util.ArrayDeque;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Runs users' functions in the order in which they were added, on a thread that it has only while
 * there are any. So they may be added on event loops, and one that blocks or throws delays only
 * those behind it. Any thread.
 */
final class Sequence implements Runnable {
  /** Bounds what waits while a function blocks. */
  static final int LONGEST = 10_000;

  private static final int BATCH = 64; // functions that the thread takes at a time
  private static final int MANY = LONGEST / 8; // with which a thread that rests is woken
  private static final HandlerPool THREADS = new HandlerPool("trunkcall-observer-", 256, 10);

  private final String threw; // what is logged of a function that has
  private final long rest; // ns
  // Guarded by the monitor, which is held for a moment.
  private @Nullable ArrayDeque<Runnable> waiting; // null while there is nothing
  private boolean running;
  private @Nullable Thread resting;

  /**
   * {@code rest}: for how many ns the thread stays, and is woken for many functions only, when it
   * has run all. Waking it for each would cost who adds many of them more than all else about them.
   */
  Sequence(String threw, long rest) {
    this.threw = threw;
    this.rest = rest;
  }

  /** Adds a function if there is room, and returns whether there was. */
  boolean add(Runnable function) {
    return add(function, LONGEST);
  }

  /** Adds a function that belongs to one for which there was room. */
  void addToo(Runnable function) {
    add(function, Integer.MAX_VALUE);
  }

  private boolean add(Runnable function, int most) {
    synchronized (this) {
      if (waiting == null) {
        waiting = new ArrayDeque<>();
      } else if (waiting.size() >= most) {
        return false;
      }
      waiting.add(function);
      if (running) {
        if (waiting.size() == MANY) {
          LockSupport.unpark(resting);
        }
        return true;
      }
      running = true;
    }
    begin();
    return true;
  }

  private void begin() {
    try {
      THREADS.execute(this);
    } catch (Throwable e) { // the system gives no thread: what is added next tries again
      synchronized (this) {
        running = false;
      }
      Journal.LOGGER.log(System.Logger.Level.WARNING, "no thread for observers", e);
    }
  }

  @Override
  public void run() {
    ArrayDeque<Runnable> batch = new ArrayDeque<>(BATCH);
    boolean done = false;
    try {
      while (takes(batch)) {
        for (Runnable next = batch.poll(); next != null; next = batch.poll()) {
          runOne(next);
        }
      }
      done = true;
    } finally {
      if (!done) { // not even its log could be written
        giveBack(batch);
        begin();
      }
    }
  }

  private void runOne(Runnable function) {
    try {
      function.run();
    } catch (Throwable e) {
      Journal.LOGGER.log(System.Logger.Level.ERROR, threw, e);
    }
  }

  /** Takes what is next. False: there is nothing, and what is added has a thread begin anew. */
  private boolean takes(ArrayDeque<Runnable> batch) {
    if (rest == 0) {
      return take(batch, false);
    }
    if (take(batch, true)) {
      return true;
    }
    Thread.interrupted(); // that a function has left would keep it from resting
    LockSupport.parkNanos(this, rest);
    return take(batch, false);
  }

  private synchronized boolean take(ArrayDeque<Runnable> batch, boolean stays) {
    ArrayDeque<Runnable> all = waiting;
    if (all == null || all.isEmpty()) {
      running = stays;
      resting = stays ? Thread.currentThread() : null;
      waiting = stays ? all : null;
      return false;
    }
    resting = null;
    for (int left = BATCH; left > 0 && !all.isEmpty(); left--) {
      batch.add(all.poll());
    }
    return true;
  }

  private synchronized void giveBack(ArrayDeque<Runnable> batch) {
    while (waiting != null && !batch.isEmpty()) {
      waiting.addFirst(batch.pollLast());
    }
  }
}
