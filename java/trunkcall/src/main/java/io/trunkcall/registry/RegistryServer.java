package io.trunkcall.registry;

import com.google.protobuf.ByteString;
import com.trunkcall.registry.v1.PublishAnswer;
import com.trunkcall.registry.v1.PublishRequest;
import com.trunkcall.registry.v1.WatchAnswer;
import com.trunkcall.registry.v1.WatchRequest;
import io.trunkcall.Code;
import io.trunkcall.Handler;
import io.trunkcall.Limits;
import io.trunkcall.Receiver;
import io.trunkcall.Sender;
import io.trunkcall.Server;
import io.trunkcall.ServerBuilder;
import io.trunkcall.ServerCall;
import io.trunkcall.StatusException;
import io.trunkcall.internal.transport.Clock;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The embedded registry (registry.md 9), which keeps records in memory for the processes of one
 * machine: {@code RegistryServer.builder().state(file).build()} is one, and its {@link
 * #serverBuilder} makes the server that serves it. Any thread may use it.
 */
public final class RegistryServer implements AutoCloseable {
  private static final Duration LEAST_LEASE = Duration.ofSeconds(1);
  private static final Duration GREATEST_LEASE = Duration.ofHours(1);
  private static final long SAVED = 1_000_000; // µs after a change
  private static final int MOST_CALLS = 128; // of a connection
  private static final int MOST_MESSAGE = 4 << 20; // bytes
  private static final long CLOSES = 10; // s that the end may take

  private final long lease; // µs
  private final @Nullable Path state;

  // One thread owns the core and the calls; another one writes, which may take long.
  private final ScheduledThreadPoolExecutor thread =
      new ScheduledThreadPoolExecutor(1, named("trunkcall-registry-server"));
  private final ExecutorService writer =
      Executors.newSingleThreadExecutor(named("trunkcall-registry-state"));

  private final RegistryCore core;
  private final Map<Long, RegistryCall<?>> calls = new HashMap<>(); // that run
  private long number; // of the call that began last
  private long saved; // the version that the file has
  private boolean saving;
  private boolean untold = true; // that the file cannot be written
  private boolean closed;

  private RegistryServer(long lease, @Nullable Path state) throws IOException {
    this.lease = lease;
    this.state = state;
    this.core = new RegistryCore(lease, RegistryCore.Bounds.USUAL, this::tell);
    core.time(Clock.micros());
    boolean whole = false;
    List<Written> records = List.of();
    if (state != null) {
      RegistryState before = RegistryState.read(state);
      records = before.records();
      whole = before.there() && before.fault().isEmpty();
      if (!before.fault().isEmpty()) {
        RegistryLog.warn(
            "a registry does not know all that was published before: "
                + state
                + ":"
                + before.fault());
      }
    }
    core.restore(records, whole);
    if (state != null) { // what cannot be written is told now
      write(state, core.records());
    }
    saved = core.version();
    thread.setRemoveOnCancelPolicy(true);
    long tick = Math.min(lease / RegistryCore.TICKS, SAVED);
    thread.scheduleAtFixedRate(this::tick, tick, tick, TimeUnit.MICROSECONDS);
  }

  private static ThreadFactory named(String name) {
    return work -> {
      Thread made = new Thread(work, name);
      made.setDaemon(true);
      return made;
    };
  }

  /** A builder of a registry. */
  public static Builder builder() {
    return new Builder();
  }

  /** What serves the registry, for a server of one's own. */
  public List<Handler> handlers() {
    return List.of(
        Handler.streamAsync(Embedded.PUBLISH, this::publish),
        Handler.streamAsync(Embedded.WATCH, this::watch));
  }

  /** A builder of a server that serves the registry alone, within the bounds of registry.md 9. */
  public ServerBuilder serverBuilder() {
    return Server.builder()
        .limits(Limits.DEFAULTS.withCalls(MOST_CALLS).withMessageBytes(MOST_MESSAGE))
        .serve(handlers().toArray(Handler[]::new));
  }

  /**
   * Ends the registry: its calls end UNAVAILABLE, and its records are written to the file. The
   * server that serves it is to be stopped behind it.
   */
  @Override
  public void close() {
    try {
      thread.execute(this::end);
    } catch (RejectedExecutionException over) {
      // It was closed before; its end is waited for all the same.
    }
    try {
      if (!thread.awaitTermination(CLOSES, TimeUnit.SECONDS)
          || !writer.awaitTermination(CLOSES, TimeUnit.SECONDS)) {
        RegistryLog.warn("a registry was not written in time");
      }
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  // On the thread of the core.

  private void end() {
    closed = true;
    StatusException stopping = stopping();
    List.copyOf(calls.values()).forEach(one -> one.end(stopping));
    calls.clear();
    save();
    thread.shutdown();
    writer.shutdown();
  }

  private static StatusException stopping() {
    return new StatusException(Code.UNAVAILABLE, "the registry is stopping");
  }

  private void tick() {
    core.time(Clock.micros());
    if (!saving) {
      save();
    }
  }

  /** Writes the file if there is something new, on the thread for that. */
  private void save() {
    Path to = state;
    long version = core.version();
    if (to == null || version == saved && !saving) {
      return;
    }
    saving = true;
    List<byte[]> records = core.records();
    writer.execute(
        () -> {
          IOException fault = null;
          try {
            write(to, records);
          } catch (IOException failed) {
            fault = failed;
          }
          written(version, fault);
        });
  }

  /** On the thread that writes. */
  private void written(long version, @Nullable IOException fault) {
    try {
      thread.execute(
          () -> {
            saving = false;
            if (fault == null) {
              saved = version;
            }
            tellWritten(fault);
          });
    } catch (RejectedExecutionException over) {
      tellWritten(fault); // nobody else does any more
    }
  }

  private void tellWritten(@Nullable IOException fault) {
    if (fault != null && untold) {
      RegistryLog.warn(
          "a registry cannot write what it knows: " + RegistryException.spelled(fault));
    }
    untold = fault == null;
  }

  private static void write(Path path, List<byte[]> records) throws IOException {
    String begin = "." + path.getFileName() + ".";
    try {
      FolderKeeping.replace(path, begin, RegistryState.write(records), "rw-------");
    } catch (NoSuchFileException fault) {
      throw new RegistryException(path + ": its folder is not there", fault);
    }
  }

  /** Has a call sent what the core tells it. */
  private void tell(long call, RegistryCore.Telling what) {
    RegistryCall<?> one = calls.get(call);
    if (one != null) {
      one.told(what);
    }
  }

  /** An event of a call that began. */
  void event(Runnable what) {
    if (!closed) {
      core.time(Clock.micros());
      what.run();
    }
  }

  /** A call is over. */
  void over(RegistryCall<?> call) {
    event(
        () -> {
          if (calls.remove(call.number) != null) {
            core.end(call.number);
          }
        });
  }

  RegistryCore core() {
    return core;
  }

  long leaseMillis() {
    return lease / 1_000;
  }

  ScheduledThreadPoolExecutor thread() {
    return thread;
  }

  // On any thread.

  private CompletionStage<@Nullable PublishAnswer> publish(
      @Nullable PublishRequest none,
      Receiver<PublishRequest> requests,
      Sender<PublishAnswer> answers,
      ServerCall call) {
    return begin(call, to -> new RegistryPublish(this, to, answers, requests));
  }

  private CompletionStage<@Nullable WatchAnswer> watch(
      @Nullable WatchRequest request,
      Receiver<WatchRequest> none,
      Sender<WatchAnswer> answers,
      ServerCall call) {
    String service = request == null ? "" : request.getService();
    return begin(call, to -> new RegistryWatch(this, to, answers, service));
  }

  /** Makes a call of its number. */
  private interface Begin<R> {
    RegistryCall<R> call(long number);
  }

  private <R> CompletionStage<@Nullable R> begin(ServerCall call, Begin<R> begin) {
    CompletableFuture<@Nullable R> result = new CompletableFuture<>();
    try {
      thread.execute(
          () -> {
            if (closed) {
              result.completeExceptionally(stopping());
              return;
            }
            RegistryCall<R> made = begin.call(++number);
            calls.put(made.number, made);
            made.begin(result);
            call.onCancel(() -> submit(() -> over(made)));
          });
    } catch (RejectedExecutionException over) {
      result.completeExceptionally(stopping());
    }
    return result;
  }

  private void submit(Runnable work) {
    try {
      thread.execute(work);
    } catch (RejectedExecutionException over) {
      // There are no calls any more.
    }
  }

  /** The bytes of the records of a request. */
  static List<byte[]> records(PublishRequest request) {
    return request.getRecordsList().stream().map(ByteString::toByteArray).toList();
  }

  /** Collects how a registry is to be. Used by one thread. */
  public static final class Builder {
    private @Nullable Path state;
    private long lease = RegistryCore.LEASE;

    private Builder() {}

    /**
     * The file by which records are known after a restart. Without one they are known when their
     * servers have published them again.
     */
    public Builder state(Path file) {
      this.state = Objects.requireNonNull(file, "file").toAbsolutePath();
      return this;
    }

    /**
     * For how long a server counts that is stopped, or whose machine is gone: 15 s unless it is
     * given. One that died or withdrew goes at once.
     *
     * @throws IllegalArgumentException for less than 1 s or more than 1 h
     */
    public Builder lease(Duration lease) {
      if (lease.compareTo(LEAST_LEASE) < 0 || lease.compareTo(GREATEST_LEASE) > 0) {
        throw new IllegalArgumentException("a lease of " + lease + ": want 1 s to 1 h");
      }
      this.lease = lease.toNanos() / 1_000;
      return this;
    }

    /**
     * The registry, with the records that its file has. With what is wrong there it begins all the
     * same, and logs it.
     *
     * @throws IOException for a file that cannot be read or written
     */
    public RegistryServer build() throws IOException {
      return new RegistryServer(lease, state);
    }
  }
}
