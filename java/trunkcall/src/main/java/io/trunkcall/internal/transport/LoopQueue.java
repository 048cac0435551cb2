package io.trunkcall.internal.transport;

import io.netty.channel.EventLoop;

/**
 * What other threads hand over to a connection of another protocol than the native one, and when
 * its output is flushed: once behind a batch, which is what the loop reads in one go, or what was
 * handed over by then.
 */
public final class LoopQueue {
  private static final System.Logger LOG = System.getLogger("io.trunkcall");
  private static final int ROUNDS = 16;

  private final EventLoop loop;
  private final Runnable flush;
  private final WorkQueue handedOver = new WorkQueue();
  private final Runnable drain = this::drain;
  private boolean inBatch;
  private boolean scheduled;

  /** Flushes by {@code flush}. */
  public LoopQueue(EventLoop loop, Runnable flush) {
    this.loop = loop;
    this.flush = flush;
  }

  /** From any thread: has work done on the loop. */
  public void submit(Runnable work) {
    if (handedOver.add(work) && !(inBatch && loop.inEventLoop())) {
      loop.execute(drain);
    }
  }

  /** On the loop: a batch begins. */
  public void begin() {
    inBatch = true;
  }

  /** On the loop: something was appended. */
  public void schedule() {
    if (!scheduled) {
      scheduled = true;
      if (!inBatch) {
        loop.execute(drain);
      }
    }
  }

  /** On the loop: does what was handed over, and flushes. */
  public void drain() {
    inBatch = true;
    try {
      for (int round = 0; round < ROUNDS && !handedOver.isEmpty(); round++) {
        runAll();
      }
    } finally {
      inBatch = false;
    }
    if (!handedOver.isEmpty()) {
      loop.execute(drain);
    }
    scheduled = false;
    flush.run();
  }

  private void runAll() {
    Work work = handedOver.takeAll();
    while (work != null) {
      Work behind = work.next;
      work.next = null; // it may be handed over again from now on
      try {
        work.run();
      } catch (Throwable thrown) {
        LOG.log(System.Logger.Level.ERROR, "work on a connection failed", thrown);
      }
      work = behind;
    }
  }
}
