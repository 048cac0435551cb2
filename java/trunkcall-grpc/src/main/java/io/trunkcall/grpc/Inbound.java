package io.trunkcall.grpc;

import io.trunkcall.Receiver;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Hands the messages of a stream to a listener: as many as were asked for, in order, and the end
 * behind the last, which nobody has to ask for. One message is received ahead to learn of the end.
 *
 * <p>All but {@link #request} and {@link #stop} is done by the tasks of one {@link Serial}.
 */
final class Inbound<T> {
  /** Who is told. */
  interface Sink<T> {
    void message(T message);

    /** There are no more; {@code failure} says why, unless all has come. */
    void end(@Nullable Throwable failure);
  }

  private final Receiver<T> from;
  private final Serial serial;
  private final Sink<T> to;
  private final AtomicLong wanted = new AtomicLong();
  private final Runnable pump = this::pump;
  private @Nullable CompletableFuture<@Nullable T> next;
  private boolean over;
  private volatile @Nullable Thread pumping;

  Inbound(Receiver<T> from, Serial serial, Sink<T> to) {
    this.from = from;
    this.serial = serial;
    this.to = to;
  }

  /** Begins to receive. */
  void start() {
    serial.execute(pump);
  }

  /** Asks for more. Any thread. */
  void request(int more) {
    wanted.addAndGet(more);
    if (pumping != Thread.currentThread()) {
      serial.execute(pump);
    }
  }

  /** Ends it now: what has not been handed over is dropped. Any thread. */
  void stop(@Nullable Throwable failure) {
    serial.execute(() -> end(failure));
  }

  private void end(@Nullable Throwable failure) {
    if (!over) {
      over = true;
      to.end(failure);
    }
  }

  private void pump() {
    pumping = Thread.currentThread();
    try {
      while (!over && step()) {
        // Until nothing is asked for, or nothing is there.
      }
    } finally {
      pumping = null;
    }
  }

  private boolean step() {
    CompletableFuture<@Nullable T> coming = next;
    if (coming == null) {
      coming = from.receiveAsync();
      next = coming;
      if (!coming.isDone()) {
        coming.whenComplete((message, error) -> serial.execute(pump));
        return false;
      }
    }
    if (!coming.isDone()) {
      return false;
    }
    T message;
    try {
      message = coming.join();
    } catch (CompletionException e) {
      end(e.getCause() == null ? e : e.getCause());
      return false;
    } catch (RuntimeException e) {
      end(e);
      return false;
    }
    if (message == null) {
      end(null);
      return false;
    }
    if (wanted.get() == 0) {
      return false;
    }
    wanted.decrementAndGet();
    next = null;
    to.message(message);
    return true;
  }
}
