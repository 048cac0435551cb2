package io.trunkcall;

import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Threads for handlers, as many as block at a time. To wake a thread costs more than most handlers
 * do, so calls that come together are not given a thread each: one thread at a time is on its way
 * to the queue, and the one that arrives has the next one woken if there is more. Those that run
 * take what they find there meanwhile.
 *
 * <p>While something is queued, a thread is on its way to it, or as many run as there may be, or as
 * the system gives. Where it gives none at all, tasks are refused.
 */
final class HandlerPool implements HandlerExecutor {
  private final ThreadFactory factory;
  private final int most;
  private final long idleNanos; // after which a thread ends
  private final Queue<Runnable> queue = new ConcurrentLinkedQueue<>();
  private final AtomicBoolean onItsWay = new AtomicBoolean(); // a thread was woken or started
  private final ReentrantLock lock = new ReentrantLock();
  // Guarded by the lock.
  private final ArrayDeque<Worker> idle = new ArrayDeque<>(); // the one that was busy last is first
  private volatile int threads; // that were started and have not ended; read by all
  private volatile boolean shut;

  /** At most so many daemon threads, which are named {@code name} and a number. */
  HandlerPool(String name, int most, long idleSeconds) {
    this(numbered(name), most, idleSeconds);
  }

  /** The same, of these threads. */
  HandlerPool(ThreadFactory factory, int most, long idleSeconds) {
    this.factory = factory;
    this.most = most;
    this.idleNanos = TimeUnit.SECONDS.toNanos(idleSeconds);
  }

  private static ThreadFactory numbered(String name) {
    AtomicInteger count = new AtomicInteger();
    return work -> {
      Thread thread = new Thread(work, name + count.incrementAndGet());
      thread.setDaemon(true);
      return thread;
    };
  }

  @Override
  public void execute(Runnable task) {
    if (shut) {
      throw new RejectedExecutionException("the handlers' threads have ended");
    }
    queue.add(task);
    wakeFor(task);
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

  /** Throws RejectedExecutionException for a task that nobody is there to run. */
  private void wakeFor(Runnable task) {
    try {
      wake();
    } catch (Throwable e) { // the system gives no more threads
      if (threads == 0 && queue.remove(task)) {
        throw new RejectedExecutionException("there is no thread for a handler: " + e, e);
      }
    }
  }

  /**
   * Has one more thread look at the queue, unless one is about to. Without any, whether one can be
   * started is waited for: it decides what becomes of the task.
   */
  private void wake() {
    boolean mine = !onItsWay.get() && onItsWay.compareAndSet(false, true);
    if (!mine && threads > 0) {
      return;
    }
    Worker next;
    lock.lock();
    try {
      if (!mine && threads > 0) {
        return; // it was started meanwhile
      }
      next = idle.pollFirst();
      if (next == null && threads < most) {
        onItsWay.set(true);
        new Worker().thread.start();
        threads++;
      } else if (next == null) {
        // All are busy, and look at the queue when they have noted that they rest. Within the lock:
        // one that rests from now on finds that nobody is on its way.
        onItsWay.set(false);
      }
    } catch (Throwable e) {
      onItsWay.set(false);
      throw e;
    } finally {
      lock.unlock();
    }
    if (next != null) {
      next.called = true;
      LockSupport.unpark(next.thread);
    }
  }

  private final class Worker implements Runnable {
    final Thread thread = factory.newThread(this);
    volatile boolean called; // it was woken for work

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
      wakeAnother();
      if (first != null) {
        runOne(first);
      }
    }

    private void wakeAnother() {
      if (queue.isEmpty()) {
        return;
      }
      try {
        wake();
      } catch (Throwable e) { // the system gives no more threads: those that run take it
        Journal.LOGGER.log(System.Logger.Level.WARNING, "no further thread for handlers", e);
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
      wakeAnother(); // for what came before this thread could be found idle
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
