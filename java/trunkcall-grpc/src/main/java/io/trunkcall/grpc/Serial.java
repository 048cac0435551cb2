package io.trunkcall.grpc;

import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Runs tasks one after the other on an executor, or here if that takes none any more. Guava's
 * sequential executor does the same, but for {@link #begin}: the first of a call's tasks runs on
 * the thread that is there already.
 */
final class Serial implements Executor, Runnable {
  static final System.Logger LOGGER = System.getLogger("io.trunkcall.grpc");

  private final Executor executor;
  private final ConcurrentLinkedQueue<Runnable> tasks = new ConcurrentLinkedQueue<>();
  private final AtomicInteger waiting = new AtomicInteger(); // tasks that have not ended

  Serial(Executor executor) {
    this.executor = executor;
  }

  /** Runs the first task on this thread, and behind it those that have come meanwhile. */
  void begin(Runnable first) {
    waiting.incrementAndGet();
    runOne(first);
    if (waiting.decrementAndGet() > 0) {
      run();
    }
  }

  @Override
  public void execute(Runnable task) {
    tasks.add(task);
    if (waiting.getAndIncrement() > 0) {
      return;
    }
    try {
      executor.execute(this);
    } catch (RejectedExecutionException e) {
      LOGGER.log(System.Logger.Level.WARNING, "the executor of a call takes no more tasks", e);
      run(); // its call would never end
    }
  }

  /** Runs all there are; called by the executor. */
  @Override
  public void run() {
    do {
      Runnable task = tasks.poll();
      if (task != null) {
        runOne(task);
      }
    } while (waiting.decrementAndGet() > 0);
  }

  private static void runOne(Runnable task) {
    try {
      task.run();
    } catch (Throwable e) { // those behind it have their turn
      LOGGER.log(System.Logger.Level.ERROR, "a task of a call threw", e);
    }
  }
}
