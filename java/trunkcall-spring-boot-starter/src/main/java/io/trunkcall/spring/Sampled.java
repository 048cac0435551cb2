package io.trunkcall.spring;

import io.trunkcall.Gauges;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;

/** Gauges for meters that are read one after the other: asked for once for all of them. */
final class Sampled {
  private static final long FRESH = TimeUnit.MILLISECONDS.toNanos(500);
  private static final long PATIENCE = 5; // s for what event loops know

  private final Supplier<@Nullable CompletableFuture<Gauges>> source;

  private final ReentrantLock lock = new ReentrantLock();
  private @Nullable Gauges last; // guarded by lock
  private long asked; // guarded by lock

  Sampled(Supplier<@Nullable CompletableFuture<Gauges>> source) {
    this.source = source;
  }

  /** A value; not a number where there is nothing to ask. */
  double value(ToDoubleFunction<Gauges> of) {
    lock.lock();
    try {
      if (last == null || System.nanoTime() - asked > FRESH) {
        last = ask();
        asked = System.nanoTime();
      }
      return last == null ? Double.NaN : of.applyAsDouble(last);
    } finally {
      lock.unlock();
    }
  }

  private @Nullable Gauges ask() {
    CompletableFuture<Gauges> asking = source.get();
    try {
      return asking == null ? null : asking.get(PATIENCE, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return null;
    } catch (ExecutionException | TimeoutException e) {
      return null;
    }
  }
}
