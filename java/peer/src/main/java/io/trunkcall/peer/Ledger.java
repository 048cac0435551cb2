package io.trunkcall.peer;

import com.google.gson.JsonObject;
import io.trunkcall.Call;
import io.trunkcall.Code;
import io.trunkcall.Next;
import io.trunkcall.ServerCall;
import io.trunkcall.StatusException;
import io.trunkcall.load.Failed;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.HexFormat;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * What became of calls, written down so that it can be checked afterwards that each ended once and
 * ran as often as its caller was told. The form of the file is the same for every language:
 * conformance/peer.md, section 7.
 */
final class Ledger {
  /** The metadata entry that carries the id of a call. */
  static final String KEY = "ledger-call";

  // Each line is one write, without a buffer of this process: a line that was written outlives it.
  private final FileOutputStream file;
  private final String prefix; // apart from that of every other process
  private final AtomicLong numbers = new AtomicLong();

  Ledger(String path) throws Failed {
    try {
      file = new FileOutputStream(path, true);
    } catch (IOException e) {
      throw new Failed("--ledger: open " + e.getMessage());
    }
    byte[] random = new byte[4];
    new SecureRandom().nextBytes(random);
    prefix = HexFormat.of().formatHex(random);
  }

  /** An id that nothing else in any process has. */
  String id() {
    return prefix + "-" + numbers.incrementAndGet();
  }

  /** Begins a line. */
  static JsonObject line(String event) {
    JsonObject line = new JsonObject();
    line.addProperty("event", event);
    line.addProperty("at", System.nanoTime()); // CLOCK_MONOTONIC on Linux
    return line;
  }

  /** Begins a line about a call. */
  static JsonObject line(String event, String call) {
    JsonObject line = line(event);
    line.addProperty("call", call);
    return line;
  }

  /** Adds the time that a call has left, if it has a deadline. */
  static void addDeadline(JsonObject line, @Nullable Duration left) {
    if (left != null) {
      line.addProperty("deadline", System.nanoTime() + left.toNanos());
    }
  }

  /** Appends a line. A ledger with a hole proves nothing: one that cannot be written ends all. */
  void write(JsonObject line) {
    byte[] bytes = (JsonForm.tight(line) + "\n").getBytes(StandardCharsets.UTF_8);
    try {
      file.write(bytes);
    } catch (IOException e) {
      System.err.println("the ledger cannot be written: " + e.getMessage());
      Runtime.getRuntime().halt(Program.FAILED);
    }
  }

  /**
   * A server's interceptor: it writes that a handler begins before it does, and that it has ended
   * before the caller can know.
   */
  CompletionStage<? extends @Nullable Object> intercept(Call call, Next next) {
    String found = call.metadata().get(KEY);
    if (found == null) {
      return next.proceed(call);
    }
    String execution = id();
    JsonObject begin = line("begin", found);
    begin.addProperty("execution", execution);
    begin.addProperty("method", call.method().name());
    addDeadline(begin, call.timeout());
    write(begin);
    return next.proceed(call)
        .whenComplete((answer, error) -> writeEnd(found, execution, call.server(), error));
  }

  private void writeEnd(
      String id, String execution, @Nullable ServerCall server, @Nullable Throwable error) {
    boolean cancelled = server != null && server.cancelled();
    JsonObject end = line("end", id);
    end.addProperty("execution", execution);
    Code code = code(error, cancelled);
    end.addProperty("outcome", code == null ? "panicked" : "returned");
    if (code != null) {
      end.addProperty("code", code.name());
    }
    if (cancelled) {
      end.addProperty("cancelled", true);
    }
    write(end);
  }

  /** What a handler ended with; null: it threw something else than a status. */
  private static @Nullable Code code(@Nullable Throwable error, boolean cancelled) {
    Throwable thrown = error;
    if (thrown instanceof CompletionException && thrown.getCause() != null) {
      thrown = thrown.getCause();
    }
    if (thrown == null) {
      return Code.OK;
    }
    if (thrown instanceof StatusException failed) {
      return failed.code();
    }
    boolean ended =
        thrown instanceof InterruptedException || thrown instanceof CancellationException;
    return cancelled && ended ? Code.CANCELLED : null;
  }
}
