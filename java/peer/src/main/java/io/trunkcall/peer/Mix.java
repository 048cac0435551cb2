package io.trunkcall.peer;

import com.google.gson.JsonObject;
import com.trunkcall.fault.v1.Behaviour;
import io.trunkcall.CallOptions;
import io.trunkcall.Client;
import io.trunkcall.Code;
import io.trunkcall.Delivery;
import io.trunkcall.Metadata;
import io.trunkcall.Status;
import io.trunkcall.StatusException;
import io.trunkcall.load.Call;
import io.trunkcall.load.Failed;
import io.trunkcall.load.Stopped;
import io.trunkcall.load.UsageError;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Load of several methods, each call with an id, perhaps a deadline, and perhaps given up. */
final class Mix {
  private static final int MAX_WEIGHT = 1000;
  private static final int MAX_MESSAGE = 200; // how much of a status message is kept

  private final List<MixedCall> calls = new ArrayList<>(); // each as often as its weight says
  private final MixFlags flags;
  private final MixedCall.Requests requests;
  private final @Nullable Ledger ledger;
  private final ScheduledExecutorService timer =
      Executors.newSingleThreadScheduledExecutor(
          task -> {
            Thread thread = new Thread(task, "giving up");
            thread.setDaemon(true);
            return thread;
          });
  private volatile boolean stopped;

  Mix(MixFlags flags, String method, int size) throws UsageError, Failed {
    this.flags = flags;
    Behaviour.Builder behaviour = Behaviour.newBuilder();
    try {
      JsonForm.read(flags.behaviour(), behaviour);
    } catch (IllegalArgumentException e) {
      throw new UsageError("--behaviour: " + e.getMessage());
    }
    requests = new MixedCall.Requests(behaviour.build(), BenchMessages.payload(size));
    String all = flags.mix().given() ? flags.mix().get() : method;
    for (String part : all.split(",", -1)) {
      add(part);
    }
    ledger = flags.ledger().given() ? new Ledger(flags.ledger().get()) : null;
  }

  static String names() {
    return String.join(", ", MixedCall.BY_NAME.keySet());
  }

  private void add(String part) throws UsageError {
    int equals = part.indexOf('=');
    MixedCall found = MixedCall.BY_NAME.get(equals < 0 ? part : part.substring(0, equals));
    String weight = equals < 0 ? "1" : part.substring(equals + 1);
    int times = weight.matches("[0-9]{1,4}") ? Integer.parseInt(weight) : 0;
    if (found == null || times < 1 || times > MAX_WEIGHT) {
      throw new UsageError(
          "--mix " + part + ": want one of " + names() + ", a weight from 1 to " + MAX_WEIGHT);
    }
    for (int i = 0; i < times; i++) {
      calls.add(found);
    }
  }

  /** Has no more calls made. */
  void stop() {
    stopped = true;
  }

  /**
   * The calls of one caller, which fail if the caller did not bring that about itself. Each is made
   * by a client of its own that {@code connect} makes, or by the shared one.
   */
  Call newCall(int caller, @Nullable Supplier<Client> connect, @Nullable Client shared) {
    SplittableRandom random = new SplittableRandom(flags.seed() * 1_000_003 + caller);
    return () -> {
      if (stopped) {
        throw Stopped.INSTANCE;
      }
      MixedCall chosen = calls.get(random.nextInt(calls.size()));
      Duration timeout = flags.timeout().given() ? flags.timeout().get().draw(random) : null;
      long giveUp = 0;
      if (random.nextDouble() < flags.cancelShare()) {
        giveUp = random.nextLong(flags.cancelAfter().toNanos()) + 1;
      }
      if (connect == null) {
        make(chosen, shared, timeout, giveUp, false);
      } else {
        make(chosen, connect.get(), timeout, giveUp, true);
      }
    };
  }

  /** Makes a call and keeps the ledger; a client of the call's own is closed behind it. */
  private void make(
      MixedCall chosen,
      @Nullable Client client,
      @Nullable Duration timeout,
      long giveUp,
      boolean own)
      throws Exception {
    if (client == null) {
      throw new IllegalStateException("there is no client");
    }
    Attempt attempt = new Attempt(ledger);
    CallOptions options = attempt.begin(chosen.method().name(), timeout);
    ScheduledFuture<?> alarm = null;
    if (giveUp > 0) {
      alarm = timer.schedule(attempt::giveUp, giveUp, TimeUnit.NANOSECONDS);
    }
    Status status = Status.OK;
    Exception failure = null;
    try {
      chosen.run().make(client, options, requests, attempt);
    } catch (StatusException e) {
      status = e.status();
      failure = e;
    } catch (Exception e) {
      status = Status.of(Code.UNKNOWN, Failed.told(e));
      failure = e;
    }
    if (alarm != null) {
      alarm.cancel(false);
    }
    boolean givenUp = attempt.end(status);
    if (own) {
      BenchCommand.closeLater(client);
    }
    if (failure != null && !(givenUp && status.code() == Code.CANCELLED)) {
      throw failure;
    }
  }

  /** A call, as the ledger is told of it. */
  static final class Attempt {
    private final @Nullable Ledger ledger;
    private String id = "";
    // Guarded by this: whoever gives up does not do so behind the end.
    private boolean givenUp;
    private boolean ended;
    private @Nullable Runnable cancel;

    private Attempt(@Nullable Ledger ledger) {
      this.ledger = ledger;
    }

    private CallOptions begin(String method, @Nullable Duration timeout) {
      CallOptions options = CallOptions.NONE;
      if (timeout != null) {
        options = options.withTimeout(timeout);
      }
      if (ledger == null) {
        return options;
      }
      id = ledger.id();
      JsonObject line = Ledger.line("begin", id);
      line.addProperty("method", method);
      Ledger.addDeadline(line, timeout);
      ledger.write(line);
      return options.withMetadata(Metadata.of(Ledger.KEY, id));
    }

    /** What gives the call up, now that there is something to give up. */
    synchronized void cancelBy(Runnable function) {
      if (givenUp) {
        function.run();
      } else {
        cancel = function;
      }
    }

    private synchronized void giveUp() {
      if (ended) {
        return;
      }
      givenUp = true;
      if (ledger != null) {
        ledger.write(Ledger.line("cancel", id));
      }
      if (cancel != null) {
        cancel.run();
      }
    }

    /** Whether it was given up. */
    private synchronized boolean end(Status status) {
      ended = true;
      if (ledger != null) {
        JsonObject line = Ledger.line("end", id);
        line.addProperty("code", status.code().name());
        Delivery delivery = status.ok() ? Delivery.EXECUTED : status.delivery();
        line.addProperty("delivery", delivery.word());
        String message = status.message();
        if (!message.isEmpty()) {
          line.addProperty(
              "message", message.substring(0, Math.min(message.length(), MAX_MESSAGE)));
        }
        ledger.write(line);
      }
      return givenUp;
    }
  }
}
