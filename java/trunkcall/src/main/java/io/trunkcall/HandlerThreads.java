package io.trunkcall;

import java.lang.reflect.InvocationTargetException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedTransferQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** The threads that handlers run on unless their server or client is given an executor. */
final class HandlerThreads {
  private static final int MOST = 1_024; // as many as a connection may have calls
  private static final long IDLE = 60; // s after which a thread ends

  private HandlerThreads() {}

  /**
   * A pool that has a thread that is free take what comes, else makes one, up to {@link #MOST};
   * beyond that tasks wait.
   */
  static ExecutorService pooled() {
    Waiting waiting = new Waiting();
    ThreadPoolExecutor pool =
        new ThreadPoolExecutor(0, MOST, IDLE, TimeUnit.SECONDS, waiting, named());
    pool.setRejectedExecutionHandler(
        (task, of) -> {
          if (of.isShutdown() || !waiting.put(task, of)) {
            throw new RejectedExecutionException("the handlers' threads have ended");
          }
        });
    return pool;
  }

  private static ThreadFactory named() {
    AtomicInteger count = new AtomicInteger();
    return task -> {
      Thread made = new Thread(task, "trunkcall-handler-" + count.incrementAndGet());
      made.setDaemon(true);
      return made;
    };
  }

  /** A queue that takes a task only if a thread waits for one, so that the pool makes threads. */
  private static final class Waiting extends LinkedTransferQueue<Runnable> {
    private static final long serialVersionUID = 1L;

    @Override
    public boolean offer(Runnable task) {
      return tryTransfer(task);
    }

    /** There are as many threads as there may be. */
    boolean put(Runnable task, ThreadPoolExecutor pool) {
      super.put(task);
      return !pool.isShutdown() || !remove(task);
    }
  }

  /**
   * A virtual thread for each handler.
   *
   * @throws UnsupportedOperationException where the runtime has none
   */
  static ExecutorService virtual() {
    try {
      return (ExecutorService)
          Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
    } catch (NoSuchMethodException | IllegalAccessException | InvocationTargetException e) {
      throw new UnsupportedOperationException(
          "virtual threads need Java 21, this is Java " + Runtime.version().feature(), e);
    }
  }
}
