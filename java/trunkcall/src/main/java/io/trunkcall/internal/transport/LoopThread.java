package io.trunkcall.internal.transport;

import io.netty.util.concurrent.FastThreadLocalThread;

/** A thread that is there to turn an event loop. */
final class LoopThread extends FastThreadLocalThread {
  /** Whether it turns one now. Of the thread itself. */
  boolean turns;

  LoopThread(Runnable work, String name) {
    super(work, name);
  }
}
