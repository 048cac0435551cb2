package io.trunkcall;

import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Threads for handlers, as many as block at a time. To wake a thread costs more than most handlers
 * do, so calls that come together are not given a thread each: one thread at a time is on its way
 * to the queue, and the one that arrives has the next one woken if there is more. Those that run
 * take what they find there meanwhile.
 *
 * <p>While something is queued, a thread is on its way to it, or as many run as there may be.
 */
final class HandlerPool implements HandlerExecutor {
  private final String name;
  private final int most;
  private final long idleNanos; // after which a thread ends
  private final Queue<Runnable> queue = new ConcurrentLinkedQueue<>();
  private final AtomicBoolean onItsWay = new AtomicBoolean(); // a thread was woken or started
  private final ReentrantLock lock = new ReentrantLock();
  // Guarded by the lock.
  private final ArrayDeque<Worker> idle = new ArrayDeque<>(); // the one that was busy last is first
  private int threads;
  private int started; // ever
  private volatile boolean shut;

  /** At most so many daemon threads, which are named {@code name} and a number. */
  HandlerPool(String name, int most, long idleSeconds) {
    this.name = name;
    this.most = most;
    this.idleNanos = TimeUnit.SECONDS.toNanos(idleSeconds);
  }

  @Override
  public void execute(Runnable task) {
    if (shut) {
      throw new RejectedExecutionException("the handlers' threads have ended");
    }
    queue.add(task);
    wake();
    if (shut && queue.remove(task)) { // perhaps nobody was there to take it
      throw new RejectedExecutionException("the handlers' threads have ended");
    }
  }

  @Override
  public void shutdown() {
    shut = true;
    lock.lock();
    try {
      idle.forEach(each -> LockSupport.unpark(each.thread));
    } finally {
      lock.unlock();
    }
  }

  /** Has one more thread look at the queue, unless one is about to. */
  private void wake() {
    if (onItsWay.get() || !onItsWay.compareAndSet(false, true)) {
      return;
    }
    Worker next = null;
    boolean start = false;
    lock.lock();
    try {
      next = idle.pollFirst();
      if (next == null && threads < most) {
        start = true;
        threads++;
        next = new Worker(++started);
      }
    } finally {
      lock.unlock();
    }
    if (next == null) {
      onItsWay.set(false); // all are busy, and look at the queue before they rest
    } else if (start) {
      next.start();
    } else {
      next.called = true;
      LockSupport.unpark(next.thread);
    }
  }

  private final class Worker implements Runnable {
    final Thread thread;
    volatile boolean called; // it was woken for work

    Worker(int number) {
      thread = new Thread(this, name + number);
      thread.setDaemon(true);
    }

    void start() {
      try {
        thread.start();
      } catch (Throwable e) { // the system gives no more threads
        lock.lock();
        threads--;
        lock.unlock();
        onItsWay.set(false);
        throw e;
      }
    }

    @Override
    public void run() {
      do {
        arrived();
        for (Runnable task = queue.poll(); task != null; task = queue.poll()) {
          runOne(task);
        }
      } while (rest());
    }

    /** It is at the queue, and takes one. Others are woken for the rest. */
    private void arrived() {
      Runnable first = queue.poll();
      onItsWay.set(false);
      if (!queue.isEmpty()) {
        wake();
      }
      if (first != null) {
        runOne(first);
      }
    }

    private void runOne(Runnable task) {
      try {
        task.run();
      } catch (Throwable e) {
        Journal.LOGGER.log(System.Logger.Level.ERROR, "a task of a handlers' thread threw", e);
      }
      Thread.interrupted(); // what one task has left is not for the next
    }

    /** Waits for work. False: there was none for long, or none comes any more. */
    private boolean rest() {
      called = false;
      lock.lock();
      idle.addFirst(this);
      lock.unlock();
      if (!queue.isEmpty()) { // it came before this thread could be found idle
        wake();
      }
      long until = System.nanoTime() + idleNanos;
      while (!called) {
        long left = until - System.nanoTime();
        if ((left <= 0 || shut) && leave()) {
          return false;
        }
        LockSupport.parkNanos(this, Math.max(left, 1));
        Thread.interrupted(); // would keep it from waiting
      }
      return true;
    }

    /** Whether nobody has woken it for work, so that it may end. */
    private boolean leave() {
      lock.lock();
      try {
        boolean free = idle.remove(this);
        if (free) {
          threads--;
        }
        return free;
      } finally {
        lock.unlock();
      }
    }
  }
}
