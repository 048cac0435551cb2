package io.trunkcall;

import io.trunkcall.internal.wire.LargeArrays;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.junit.jupiter.api.Assertions;

/** A server on loopback and a client of it, and how tests wait. */
final class Pair implements AutoCloseable {
  /** How long a test waits for what has to come: far longer than it takes on a busy machine. */
  static final Duration PATIENCE = Duration.ofSeconds(30);

  final Server server;
  final Client client;

  Pair(Handler... handlers) throws IOException {
    this(server -> server.serve(handlers), client -> {});
  }

  Pair(Consumer<ServerBuilder> serves, Consumer<ClientBuilder> calls) throws IOException {
    ServerBuilder builder = Server.builder().listen("127.0.0.1:0");
    serves.accept(builder);
    server = builder.build().start();
    ClientBuilder made = Client.builder("127.0.0.1:" + server.port());
    calls.accept(made);
    client = made.build();
  }

  @Override
  public void close() {
    client.close();
    server.close();
  }

  /** The result of what has to come. */
  static <T> T await(CompletableFuture<T> future) {
    try {
      return future.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
    } catch (ExecutionException e) {
      if (e.getCause() instanceof RuntimeException cause) {
        throw cause;
      }
      throw new AssertionError(e.getCause());
    } catch (InterruptedException | TimeoutException e) {
      throw new AssertionError("it did not come", e);
    }
  }

  /** Waits for something that nobody tells of. */
  static void until(Supplier<Boolean> there, String what) {
    long end = System.nanoTime() + PATIENCE.toNanos();
    while (!there.get()) {
      if (System.nanoTime() > end) {
        Assertions.fail(what);
      }
      Thread.onSpinWait();
    }
  }

  /** Whether an array is among those that are used again for other messages. They are no more. */
  static boolean isUsedAgain(byte[] array) {
    boolean found = false;
    byte[] one = LargeArrays.shared().take(array.length);
    while (one != null) {
      found = found || one == array;
      one = LargeArrays.shared().take(array.length);
    }
    return found;
  }

  /** How a call fails. */
  static StatusException failure(Runnable call) {
    return Assertions.assertThrows(StatusException.class, call::run);
  }
}
