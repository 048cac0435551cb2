package io.trunkcall.load;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/**
 * What a handler of Say does besides its answer, as {@code serve --handler} names it: what handlers
 * of users do, which is seldom nothing.
 */
public final class Work {
  /** What the handler sets the second field of its answer to. */
  public static final int ANSWER = 100;

  /** The same if it computed for long: clients leave such calls out of their times. */
  public static final int ANSWER_LONG = 101;

  private static final String PLAIN = "plain";

  private record Kind(String help, Supplier<BooleanSupplier> prepare) {}

  private static final Map<String, Kind> KINDS = new LinkedHashMap<>();

  static {
    KINDS.put(PLAIN, new Kind("nothing", () -> () -> false));
    KINDS.put("yield", new Kind("yields once (Thread.yield)", () -> always(Thread::yield)));
    KINDS.put(
        "handover",
        new Kind("hands over to another thread, one of four, and waits", Work::handover));
    KINDS.put(
        "lock", new Kind("takes a lock, which one in sixteen holds while it yields", Work::lock));
    KINDS.put("wait", new Kind("waits for 1 ms", () -> always(() -> sleep(1))));
    KINDS.put("wait5", new Kind("waits for 5 ms", () -> always(() -> sleep(5))));
    KINDS.put(
        "slow",
        new Kind("one in a hundred waits for 5 ms", () -> some(100, false, () -> sleep(5))));
    KINDS.put(
        "compute",
        new Kind(
            "one in a hundred computes for some 20 ms", () -> some(100, true, () -> compute(20))));
  }

  private final String name;
  private final BooleanSupplier tookLong;

  private Work(String name, BooleanSupplier tookLong) {
    this.name = name;
    this.tookLong = tookLong;
  }

  /** Adds the flag. */
  public static Flags.Value<Work> flag(Flags flags) {
    StringBuilder help = new StringBuilder("what a handler of Say does besides its answer");
    KINDS.forEach((name, kind) -> help.append("; ").append(name).append(": ").append(kind.help()));
    return flags.add("--handler", "KIND", of(PLAIN), help.toString(), Work::named);
  }

  private static Work named(String name) throws UsageError {
    if (!KINDS.containsKey(name)) {
      throw new UsageError("want one of " + String.join(", ", KINDS.keySet()));
    }
    return of(name);
  }

  private static Work of(String name) {
    return new Work(name, KINDS.get(name).prepare().get());
  }

  /** Does the work; returns what belongs into the second field of the answer. */
  public int answer() {
    return tookLong.getAsBoolean() ? ANSWER_LONG : ANSWER;
  }

  /** Whether handlers do nothing that holds up the thread that runs them. */
  public boolean plain() {
    return name.equals(PLAIN);
  }

  private static BooleanSupplier always(Runnable work) {
    return () -> {
      work.run();
      return false;
    };
  }

  private static BooleanSupplier some(int every, boolean isLong, Runnable work) {
    AtomicLong calls = new AtomicLong();
    return () -> {
      if (calls.incrementAndGet() % every != 0) {
        return false;
      }
      work.run();
      return isLong;
    };
  }

  /** As handlers do that keep state in a thread or share a connection to a database. */
  private static BooleanSupplier handover() {
    int workers = 4;
    @SuppressWarnings("unchecked")
    BlockingQueue<Semaphore>[] queues = new BlockingQueue[workers];
    for (int i = 0; i < workers; i++) {
      BlockingQueue<Semaphore> queue = new LinkedBlockingQueue<>();
      queues[i] = queue;
      Thread worker = new Thread(() -> releaseAll(queue), "worker-" + i);
      worker.setDaemon(true);
      worker.start();
    }
    AtomicLong calls = new AtomicLong();
    return () -> {
      Semaphore done = new Semaphore(0);
      queues[(int) (calls.incrementAndGet() % workers)].add(done);
      done.acquireUninterruptibly();
      return false;
    };
  }

  private static void releaseAll(BlockingQueue<Semaphore> queue) {
    try {
      while (true) {
        queue.take().release();
      }
    } catch (InterruptedException e) {
      throw new IllegalStateException("nobody interrupts a worker", e);
    }
  }

  private static BooleanSupplier lock() {
    ReentrantLock lock = new ReentrantLock();
    AtomicLong calls = new AtomicLong();
    return () -> {
      lock.lock();
      try {
        if (calls.incrementAndGet() % 16 == 0) {
          Thread.yield();
        }
      } finally {
        lock.unlock();
      }
      return false;
    };
  }

  private static void sleep(int millis) {
    try {
      Thread.sleep(millis);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Keeps the compiler from leaving the computing out. */
  private static volatile long computed;

  /** The same amount of work whatever else runs, and so equal for all who are measured. */
  private static void compute(int aboutMillis) {
    long rounds = (long) (aboutMillis * 1e6 * 0.6);
    long x = 1;
    for (long i = 0; i < rounds; i++) {
      x ^= x << 13;
      x ^= x >>> 7;
      x ^= x << 17;
    }
    computed = x;
  }
}
