package io.trunkcall;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/** What the registrars of a server do for it (registry.md 5). Any thread. */
final class Publishing {
  static final long WITHIN = 5_000_000; // µs that withdrawing may take ahead of draining
  static final long CLOSING = 1_000_000; // µs where the server is closed

  private final Server server;
  private final List<Registrar> registrars;
  private final AtomicBoolean withdrawing = new AtomicBoolean();
  private final CompletableFuture<@Nullable Void> withdrawn = new CompletableFuture<>();

  Publishing(Server server, List<Registrar> registrars) {
    this.server = server;
    this.registrars = List.copyOf(registrars);
  }

  /**
   * Throws what a registrar throws. Then those before it publish what the server is once that is
   * undone for which it was to be published.
   */
  void publish(Runnable undo) {
    for (int at = 0; at < registrars.size(); at++) {
      try {
        registrars.get(at).publish(server);
      } catch (RuntimeException fault) {
        undo.run();
        publishQuietly(registrars.subList(0, at), "what was published does not go back");
        throw fault;
      }
    }
  }

  /** The same once it listens, where there is nobody to throw to: what was published stays. */
  void publishAgain() {
    if (!registrars.isEmpty() && !server.addresses().isEmpty()) {
      publishQuietly(registrars, "what was registered is not published in a registry");
    }
  }

  private void publishQuietly(List<Registrar> by, String failed) {
    for (Registrar one : by) {
      try {
        one.publish(server);
      } catch (RuntimeException fault) {
        warn(failed, fault);
      }
    }
  }

  /** Begins to withdraw the server, once. The future is done when that is. */
  CompletableFuture<@Nullable Void> withdraw() {
    if (withdrawing.compareAndSet(false, true)) {
      CompletableFuture<?>[] all =
          registrars.stream().map(Publishing::withdraw).toArray(CompletableFuture<?>[]::new);
      CompletableFuture.allOf(all).thenRun(() -> withdrawn.complete(null));
    }
    return withdrawn;
  }

  private static CompletableFuture<?> withdraw(Registrar registrar) {
    CompletableFuture<?> done;
    try {
      done = registrar.withdraw().toCompletableFuture();
    } catch (RuntimeException fault) {
      done = CompletableFuture.failedFuture(fault);
    }
    return done.handle(
        (nothing, fault) -> {
          if (fault != null) {
            warn("the server was not withdrawn from a registry", CallFuture.unwrapped(fault));
          }
          return null;
        });
  }

  private static void warn(String what, Throwable fault) {
    Journal.LOGGER.log(System.Logger.Level.WARNING, what + ": " + Failures.spelled(fault));
  }
}
