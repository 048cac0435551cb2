package io.trunkcall;

import java.lang.reflect.InvocationTargetException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** The threads that handlers run on unless their server or client is given an executor. */
final class HandlerThreads {
  private static final int MOST = 1_024; // as many as a connection may have calls
  private static final long IDLE = 10; // s after which a thread ends

  private HandlerThreads() {}

  static HandlerExecutor pooled() {
    return new HandlerPool("trunkcall-handler-", MOST, IDLE);
  }

  /** A virtual thread for each handler. */
  static HandlerExecutor unbounded() {
    ExecutorService threads = virtual();
    return new HandlerExecutor() {
      @Override
      public void execute(Runnable task) {
        threads.execute(task);
      }

      @Override
      public void shutdown() {
        threads.shutdown();
      }
    };
  }

  /**
   * A virtual thread for each task.
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
