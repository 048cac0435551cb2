package io.trunkcall.peer;

import io.trunkcall.Server;
import io.trunkcall.load.Failed;
import io.trunkcall.load.Flags;
import io.trunkcall.load.UsageError;
import io.trunkcall.registry.RegistryServer;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.logging.Level;

/** The registry command: serves the embedded registry until a signal comes. */
final class RegistryCommand {
  private static final Duration GRACE = Duration.ofSeconds(5);
  private static final String NOTES =
      """

      One line on stdout, "listening ADDRESS", says that the registry is served:
      trunkcall:ADDRESS is its name. Whoever reaches the address may publish.\
      """;

  private final Console console;
  private final Flags flags = PeerFlags.of("registry");
  private final Flags.Value<String> listen =
      flags.text("--listen", "HOST:PORT", "", "address; port 0 takes a free one");
  private final Flags.Value<String> unix =
      flags.text("--unix", "PATH", "", "Unix socket to listen on instead");
  private final Flags.Value<String> state =
      flags.text("--state", "FILE", "", "by which what was published is known after a restart");
  private final Flags.Value<Duration> lease =
      flags.time(
          "--lease",
          Duration.ofSeconds(15),
          "for how long a server counts that is stopped, 1s to 1h (15s)");

  RegistryCommand(Console console) {
    this.console = console;
  }

  int run(List<String> words) throws UsageError, Failed, InterruptedException {
    if (!flags.parse(words)) {
      console.print(flags.help() + NOTES);
      return Program.OK;
    }
    if (listen.given() == unix.given()) {
      throw new UsageError("--listen or --unix is needed, and not both");
    }
    if (listen.given() && !listen.get().matches(".*:[^\\]:]+")) {
      throw new UsageError("--listen " + listen.get() + ": want HOST:PORT");
    }
    Log.begin(console, Level.WARNING);
    RegistryServer.Builder builder = RegistryServer.builder();
    try {
      builder.lease(lease.get());
    } catch (IllegalArgumentException fault) {
      throw new UsageError("--lease: " + fault.getMessage());
    }
    if (state.given()) {
      builder.state(Path.of(state.get()));
    }
    String where = unix.given() ? "unix:" + unix.get() : listen.get();
    Signals signals = new Signals();
    try (RegistryServer registry = builder.build();
        Server server = registry.serverBuilder().build()) {
      console.print("listening " + server.listen(where));
      signals.next();
      registry.close(); // its calls end, and its records stay in the file
      server.stop(GRACE);
    } catch (IOException | IllegalArgumentException fault) {
      throw new Failed(String.valueOf(fault.getMessage()), fault);
    }
    return Program.OK;
  }
}
