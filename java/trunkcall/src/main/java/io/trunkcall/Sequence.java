package io.trunkcall;

import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;

/**
 * Runs users' functions in the order in which they were added, on a thread that it has only while
 * there are any. So they may be added on event loops, and one that blocks or throws delays only
 * those behind it. Any thread.
 */
final class Sequence implements Runnable {
  /** Bounds what waits while a function blocks. */
  static final int LONGEST = 10_000;

  private static final HandlerPool THREADS = new HandlerPool("trunkcall-observer-", 256, 10);

  private final String threw; // what is logged of a function that has
  // Guarded by the monitor, which is held for a moment.
  private @Nullable ArrayDeque<Runnable> waiting; // null while there is nothing
  private boolean running;

  Sequence(String threw) {
    this.threw = threw;
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
    boolean done = false;
    try {
      for (Runnable next = next(); next != null; next = next()) {
        runOne(next);
      }
      done = true;
    } finally {
      if (!done) { // not even its log could be written
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

  /** The one that is next. Null: there is none, and whatever is added has a thread begin anew. */
  private synchronized @Nullable Runnable next() {
    Runnable next = waiting == null ? null : waiting.poll();
    if (next == null) {
      waiting = null;
      running = false;
    }
    return next;
  }
}
