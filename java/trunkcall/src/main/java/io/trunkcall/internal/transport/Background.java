package io.trunkcall.internal.transport;

import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** Daemon threads for what may block, so that no event loop does: names, files, keys. */
final class Background {
  /** Names are looked up here, which may take long. */
  static final Executor NAMES = pool("trunkcall-names-", 32);

  /** Files are read, and the keys of TLS are worked with. */
  static final Executor TLS =
      pool("trunkcall-tls-", Math.max(2, Runtime.getRuntime().availableProcessors()));

  private Background() {}

  static <T> CompletableFuture<T> run(Executor executor, Callable<T> work) {
    CompletableFuture<T> result = new CompletableFuture<>();
    executor.execute(
        () -> {
          try {
            result.complete(work.call());
          } catch (Throwable fault) {
            result.completeExceptionally(fault);
          }
        });
    return result;
  }

  private static Executor pool(String name, int most) {
    AtomicInteger count = new AtomicInteger();
    ThreadFactory named =
        work -> {
          Thread made = new Thread(work, name + count.incrementAndGet());
          made.setDaemon(true);
          return made;
        };
    ThreadPoolExecutor made =
        new ThreadPoolExecutor(
            most, most, 10, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), named);
    made.allowCoreThreadTimeOut(true);
    return made;
  }
}
