package io.trunkcall.load;

import java.util.concurrent.locks.ReentrantLock;

/**
 * The messages of a stream as calls: one call is the receipt of one message. The stream tells of
 * each that came, and is asked for another one for each that was taken, so that it is never far
 * ahead of its reader.
 */
public final class Receipts implements AsyncCall {
  /** How many messages a stream is to ask for at its beginning. */
  public static final int AHEAD = 16;

  private final Runnable askForOne;
  private final ReentrantLock lock = new ReentrantLock();
  // Guarded by the lock.
  private int arrived;
  private Ended waiting;
  private Throwable failure;

  public Receipts(Runnable askForOne) {
    this.askForOne = askForOne;
  }

  @Override
  public void start(Ended ended) {
    Throwable how;
    lock.lock();
    try {
      if (arrived > 0) {
        arrived--;
        how = null;
      } else if (failure != null) {
        how = failure;
      } else {
        waiting = ended;
        return;
      }
    } finally {
      lock.unlock();
    }
    if (how == null) {
      askForOne.run();
    }
    ended.ended(how);
  }

  /** A message has come. */
  public void arrived() {
    Ended taker;
    lock.lock();
    try {
      taker = waiting;
      waiting = null;
      if (taker == null) {
        arrived++;
        return;
      }
    } finally {
      lock.unlock();
    }
    askForOne.run();
    taker.ended(null);
  }

  /** No more messages will come. */
  public void failed(Throwable why) {
    Ended taker;
    lock.lock();
    try {
      failure = why;
      taker = waiting;
      waiting = null;
    } finally {
      lock.unlock();
    }
    if (taker != null) {
      taker.ended(why);
    }
  }
}
