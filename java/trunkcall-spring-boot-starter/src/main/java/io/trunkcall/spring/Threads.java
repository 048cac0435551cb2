package io.trunkcall.spring;

import java.util.concurrent.ExecutorService;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.springframework.scheduling.concurrent.CustomizableThreadFactory;

/** Threads with names that say what they are for. */
final class Threads {
  private static final long IDLE = 60; // s after which a thread ends

  private Threads() {}

  /** Up to so many threads, which end when they are not used. */
  static ExecutorService pool(String name, int most) {
    ThreadPoolExecutor pool =
        new ThreadPoolExecutor(
            most,
            most,
            IDLE,
            TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(),
            new CustomizableThreadFactory(name));
    pool.allowCoreThreadTimeOut(true);
    return pool;
  }
}
