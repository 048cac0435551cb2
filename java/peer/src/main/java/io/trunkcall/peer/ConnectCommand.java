package io.trunkcall.peer;

import io.trunkcall.Server;
import io.trunkcall.load.Failed;
import io.trunkcall.load.Flags;
import io.trunkcall.load.UsageError;
import io.trunkcall.peer.publicsuite.Schema;
import io.trunkcall.peer.publicsuite.SuiteClient;
import io.trunkcall.peer.publicsuite.SuiteServer;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.logging.Level;
import org.jspecify.annotations.Nullable;

/** The commands connect-server and connect-client: both ends under test of the public suite. */
final class ConnectCommand {
  private static final String SERVER = "connect-server";
  private static final String CLIENT = "connect-client";

  private static final String SERVER_NOTES =
      """

      The server under test of the public suite of Connect, gRPC and gRPC-Web: reads a
      ServerCompatRequest from stdin, prints a ServerCompatResponse, ends on SIGTERM.""";

  private static final String CLIENT_NOTES =
      """

      The client under test of the same suite: reads ClientCompatRequests from stdin, makes
      the calls and prints a ClientCompatResponse for each. It speaks the native protocol,
      whichever a request names: its server is a connect-server.""";

  private final Console console;
  private final InputStream in;

  ConnectCommand(Console console, InputStream in) {
    this.console = console;
    this.in = in;
  }

  int server(List<String> words) throws UsageError, Failed, InterruptedException {
    Schema schema = schema(SERVER, SERVER_NOTES, words);
    if (schema == null) {
      return Program.OK;
    }
    CompletableFuture<Boolean> ended = new CompletableFuture<>();
    Signals.onTerm(() -> ended.complete(true));
    CompletableFuture<Server> opened = open(new SuiteServer(schema, in, console.bytes()));
    try {
      // A signal may come before the request.
      CompletableFuture.anyOf(ended, opened.thenCompose(server -> ended)).get();
    } catch (ExecutionException e) {
      throw new Failed(String.valueOf(e.getCause()), e);
    }
    if (opened.isDone() && !opened.isCompletedExceptionally()) {
      opened.join().close();
    }
    return Program.OK;
  }

  int client(List<String> words) throws UsageError, Failed, InterruptedException {
    Schema schema = schema(CLIENT, CLIENT_NOTES, words);
    if (schema == null) {
      return Program.OK;
    }
    try {
      new SuiteClient(schema, in, console.bytes()).run();
    } catch (IOException e) {
      throw new Failed(e.toString(), e);
    }
    return Program.OK;
  }

  /** The file that the flags name; null: what the command takes was asked for, and is told. */
  private @Nullable Schema schema(String command, String notes, List<String> words)
      throws UsageError, Failed {
    Flags flags = PeerFlags.of(command);
    Flags.Value<String> schema =
        flags.text("--schema", "FILE", "", "the suite's messages, a FileDescriptorSet");
    if (!flags.parse(words)) {
      console.print(flags.help() + notes);
      return null;
    }
    if (!schema.given()) {
      throw new UsageError("--schema is needed");
    }
    Log.begin(console, Level.WARNING);
    try {
      return new Schema(Path.of(schema.get()));
    } catch (IOException e) {
      throw new UsageError("--schema " + schema.get() + ": cannot be read: " + e);
    } catch (IllegalArgumentException e) {
      throw new UsageError("--schema: " + e.getMessage());
    }
  }

  private static CompletableFuture<Server> open(SuiteServer wanted) {
    CompletableFuture<Server> opened = new CompletableFuture<>();
    Thread thread =
        new Thread(
            () -> {
              try {
                opened.complete(wanted.open());
              } catch (IOException | RuntimeException e) {
                opened.completeExceptionally(e);
              }
            },
            SERVER);
    thread.setDaemon(true);
    thread.start();
    return opened;
  }
}
