package io.trunkcall.peer.features;

import com.google.protobuf.StringValue;
import io.trunkcall.Client;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;

/** A hundred callers, each of which makes one call after the other. */
abstract class Callers implements AutoCloseable {
  private static final int CALLERS = 100;
  private static final StringValue MESSAGE = StringValue.of("x");

  /** Makes so many calls, all callers together. */
  abstract void make(Client client, int calls) throws Exception;

  /** Callers by their name. */
  static Callers of(String name) {
    return switch (name) {
      case "threads" -> new Threads();
      case "async" -> new Async();
      default -> throw new IllegalArgumentException(name + ": want threads or async");
    };
  }

  /** Each is a thread that waits for its calls. They stay, so that their time is not forgotten. */
  private static final class Threads extends Callers {
    private final ExecutorService threads = Executors.newFixedThreadPool(CALLERS);

    @Override
    void make(Client client, int calls) throws Exception {
      AtomicLong made = new AtomicLong();
      List<Future<?>> all = new ArrayList<>();
      for (int i = 0; i < CALLERS; i++) {
        all.add(
            threads.submit(
                () -> {
                  while (made.incrementAndGet() <= calls) {
                    client.call(ServersProcess.ECHO, MESSAGE);
                  }
                }));
      }
      for (Future<?> one : all) {
        one.get();
      }
    }

    @Override
    public void close() {
      threads.shutdown();
    }
  }

  /** Each makes a call when the one before is answered. */
  private static final class Async extends Callers {
    @Override
    void make(Client client, int calls) throws Exception {
      AtomicLong left = new AtomicLong(calls);
      CompletableFuture<Void> failed = new CompletableFuture<>();
      CountDownLatch over = new CountDownLatch(CALLERS);
      for (int i = 0; i < CALLERS; i++) {
        next(client, left, failed, over);
      }
      over.await();
      if (failed.isDone()) {
        failed.join();
      }
    }

    private static void next(
        Client client, AtomicLong left, CompletableFuture<Void> failed, CountDownLatch over) {
      if (left.decrementAndGet() < 0) {
        over.countDown();
        return;
      }
      CompletableFuture<StringValue> unused =
          client
              .callAsync(ServersProcess.ECHO, MESSAGE)
              .whenComplete(
                  (answer, error) -> {
                    if (error == null) {
                      next(client, left, failed, over);
                    } else {
                      failed.completeExceptionally(error);
                      over.countDown();
                    }
                  });
    }

    @Override
    public void close() {}
  }
}
