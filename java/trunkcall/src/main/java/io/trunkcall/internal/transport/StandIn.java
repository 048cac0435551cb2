package io.trunkcall.internal.transport;

import java.util.concurrent.locks.LockSupport;

/**
 * Turns a loop while its own thread runs a handler that takes longer than expected, or while there
 * is other work. As long as handlers are run so it looks every {@link TurnLoop#LOOK}; else it
 * sleeps.
 */
final class StandIn implements Runnable {
  private static final int IDLE_LOOKS = 10; // after which it sleeps

  final LoopThread thread;
  private final TurnLoop loop;
  private volatile boolean sleeps;

  StandIn(TurnLoop loop) {
    this.loop = loop;
    this.thread = new LoopThread(this, Thread.currentThread().getName() + "-stand-in");
    thread.setDaemon(true);
    thread.start();
  }

  /** A handler is about to be run. By the loop's own thread. */
  void watch() {
    if (sleeps) {
      sleeps = false;
      LockSupport.unpark(thread);
    }
  }

  @Override
  public void run() {
    long seen = loop.runs();
    long since = System.nanoTime();
    int idle = 0;
    boolean late = false;
    while (true) {
      long run = loop.runs();
      if (loop.isLeftWithWork()) {
        standIn(run, false);
      }
      loop.park();
      long now = System.nanoTime();
      if (now - since < TurnLoop.LOOK) {
        continue;
      }
      // What kept this thread may have kept the other: garbage was collected, or others had the
      // processors.
      late = now - since > 2 * TurnLoop.LOOK && !late;
      since = now;
      long ran = loop.runs();
      if (ran != seen) {
        seen = ran;
        idle = 0;
      } else if (loop.isLeft()) {
        idle = 0;
        if (!late) {
          standIn(seen, true);
        }
      } else if (++idle >= IDLE_LOOKS) {
        idle = 0;
        sleep(seen);
      }
    }
  }

  private void standIn(long run, boolean looked) {
    try {
      loop.standIn(thread, run, looked);
    } catch (Throwable e) { // the next handler may be a long one, too
      Carrier.LOG.log(System.Logger.Level.ERROR, "who stands in for a loop's thread failed", e);
    }
  }

  private void sleep(long seen) {
    sleeps = true;
    while (sleeps && loop.runs() == seen) {
      Thread.interrupted();
      LockSupport.park(this);
    }
    sleeps = false;
  }
}
