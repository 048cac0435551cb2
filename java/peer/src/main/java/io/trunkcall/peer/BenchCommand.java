package io.trunkcall.peer;

import io.trunkcall.AttemptObserver;
import io.trunkcall.CallAttempt;
import io.trunkcall.Client;
import io.trunkcall.ClientBuilder;
import io.trunkcall.Compression;
import io.trunkcall.StatusException;
import io.trunkcall.Tls;
import io.trunkcall.load.AsyncCall;
import io.trunkcall.load.Call;
import io.trunkcall.load.Calls;
import io.trunkcall.load.Config;
import io.trunkcall.load.Failed;
import io.trunkcall.load.Flags;
import io.trunkcall.load.Options;
import io.trunkcall.load.Result;
import io.trunkcall.load.UsageError;
import io.trunkcall.registry.Source;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.logging.Level;
import org.jspecify.annotations.Nullable;

/** The bench command: puts load on a server and prints what it measured. */
final class BenchCommand {
  private static final String NOTES =
      """

      One line of JSON on stdout is the result; everything else goes to stderr. Calls that
      failed are among the calls and in the rate, and are counted in errors; stderr has the
      first failure. The exit status is 0 unless no call succeeded, or one failed in the
      warm-up. If the calls could not be made at --rate, stderr says that it fell behind,
      with the rate that was reached. With --mix, --ledger, --timeout or --cancel-share
      there is a warm-up only if --warmup is given, which is the same load, and no failure ends the load: the ledger has what
      became of each call. A call of Take or Exchange then is a stream of its own, with 3
      requests. SIGTERM ends such load: no more calls are made, and the result is printed
      when those that run have ended.""";

  private final Console console;
  private final Flags flags = PeerFlags.of("bench");
  private final Options options = new Options(flags, Workload.METHODS);
  private final Flags.Value<Optional<Compression>> compression =
      PeerFlags.compression(flags, "requests, and so of the answers to them");
  private final Flags.Value<String> codec = PeerFlags.codec(flags);
  private final Security security = Security.ofClient(flags);
  private final Flags.Value<Boolean> async =
      flags.toggle("--async", "use the client's futures instead of a thread for each caller");
  private final Flags.Value<Boolean> perCall =
      flags.toggle("--connection-per-call", "make a connection for each call");
  private final Flags.Value<Optional<Source>> registry = PeerFlags.registry(flags);
  private final Choosing choosing = new Choosing(flags);
  private final MixFlags mix = new MixFlags(flags);
  private final AtomicLong attempts = new AtomicLong();

  BenchCommand(Console console) {
    this.console = console;
  }

  int run(List<String> words) throws UsageError, Failed, InterruptedException {
    if (!flags.parse(words)) {
      console.print(flags.help() + NOTES);
      return Program.OK;
    }
    options.check();
    if (Workload.streams(options.method()) && perCall.get()) {
      throw new UsageError(
          "--connection-per-call does not go with EchoStream and Emit, whose calls share a stream");
    }
    if (mix.wanted() && isStock()) {
      throw new UsageError(
          "--codec "
              + PeerFlags.STOCK
              + " does not go with --mix, --ledger, --timeout and --cancel-share");
    }
    Log.begin(console, mix.observe() ? Level.WARNING : Level.OFF);
    Tls tls = security.tls();
    Clients.build(builder(tls)).close(); // turns down what can never be
    if (mix.wanted()) {
      return measureMix(tls);
    }
    Result result = measure(tls);
    String program = Program.NAME + " bench";
    return result.tell(program, options.rate(), console.out(), console.err());
  }

  private boolean isStock() {
    return codec.get().equals(PeerFlags.STOCK);
  }

  private ClientBuilder builder(@Nullable Tls tls) {
    ClientBuilder builder =
        choosing
            .apply(Clients.builder(options.address(), tls, compression.get(), registry.get()))
            .keepalive(mix.keepalive().interval(), mix.keepalive().timeout());
    if (mix.observe()) {
      builder.attemptObserver(
          new AttemptObserver() {
            @Override
            public void attemptBegan(CallAttempt attempt) {
              attempts.incrementAndGet();
            }

            @Override
            public void attemptEnded(CallAttempt attempt) {}
          });
    }
    return mix.policyFile().given() ? builder.policyFile(Path.of(mix.policyFile().get())) : builder;
  }

  private Result measure(@Nullable Tls tls) throws Failed, InterruptedException {
    Workload work =
        isStock()
            ? new StockWorkload(options.method(), options.size())
            : new TypedWorkload(options.method(), options.size());
    if (perCall.get()) {
      List<Call> calls = new ArrayList<>();
      for (int i = 0; i < options.callers(); i++) {
        calls.add(() -> connectAndCall(work, tls));
      }
      return Calls.blocking(calls, List.of()).run(options.config());
    }
    try (Client client = builder(tls).connections(options.connections()).build()) {
      connect(client);
      if (async.get()) {
        List<AsyncCall> calls = new ArrayList<>();
        for (int i = 0; i < options.callers(); i++) {
          calls.add(work.async(client));
        }
        return Calls.async(calls, List.of()).run(options.config());
      }
      List<Call> calls = new ArrayList<>();
      for (int i = 0; i < options.callers(); i++) {
        calls.add(work.blocking(client));
      }
      return Calls.blocking(calls, List.of()).run(options.config());
    }
  }

  private static void connect(Client client) throws Failed {
    try {
      client.connect().join();
    } catch (CompletionException e) {
      throw new Failed(Failed.told(e.getCause() == null ? e : e.getCause()), e);
    }
  }

  /** A call ends with its answer: that the connection closes is not waited for. */
  private void connectAndCall(Workload work, @Nullable Tls tls) throws Exception {
    Client client = builder(tls).build();
    try {
      work.blocking(client).make();
    } finally {
      closeLater(client);
    }
  }

  static void closeLater(Client client) {
    Thread closing = new Thread(client::close, "close");
    closing.setDaemon(true);
    closing.start();
  }

  /** Load that goes on whatever becomes of its calls. */
  private int measureMix(@Nullable Tls tls) throws UsageError, Failed, InterruptedException {
    Mix mixed = new Mix(mix, options.method(), options.size());
    Signals.onTerm(mixed::stop);
    Config asked = options.config();
    Config config = new Config(asked.calls(), asked.duration(), asked.rate(), Duration.ZERO, 0);
    Client shared = perCall.get() ? null : builder(tls).connections(options.connections()).build();
    try {
      List<Call> calls = new ArrayList<>();
      for (int i = 0; i < options.callers(); i++) {
        calls.add(mixed.newCall(i, shared == null ? () -> builder(tls).build() : null, shared));
      }
      long before = 0;
      if (asked.warmupCalls() == 0 && !asked.warmup().isZero() && shared != null) {
        Config warm = new Config(0, asked.warmup(), asked.rate(), Duration.ZERO, 0);
        before = Calls.blocking(calls, List.of()).run(warm).calls();
      }
      Result result = Calls.blocking(calls, List.of()).run(config);
      console.print(result.withAttempts(attempts.get(), before).json());
      return Program.OK;
    } catch (StatusException e) {
      throw new Failed(String.valueOf(e.getMessage()), e);
    } finally {
      if (shared != null) {
        shared.close();
      }
    }
  }
}
