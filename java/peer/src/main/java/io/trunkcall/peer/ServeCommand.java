package io.trunkcall.peer;

import io.grpc.protobuf.services.HealthStatusManager;
import io.grpc.protobuf.services.ProtoReflectionService;
import io.grpc.protobuf.services.ProtoReflectionServiceV1;
import io.trunkcall.Compression;
import io.trunkcall.Limits;
import io.trunkcall.Server;
import io.trunkcall.ServerBuilder;
import io.trunkcall.Tls;
import io.trunkcall.grpc.GrpcServices;
import io.trunkcall.load.Failed;
import io.trunkcall.load.Flags;
import io.trunkcall.load.UsageError;
import io.trunkcall.load.Work;
import io.trunkcall.peer.conformance.Service;
import io.trunkcall.registry.Registrar;
import io.trunkcall.registry.Registry;
import io.trunkcall.registry.Store;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import java.util.logging.Level;
import org.jspecify.annotations.Nullable;

/** The serve command: answers until a signal comes, then until what runs is answered. */
final class ServeCommand {
  private static final String NOTES =
      """

      One line on stdout, "listening HOST:PORT", says that calls are answered; the log
      goes to stderr, also the --unix path if it is not the only address. SIGTERM ends
      the server when the calls that run are answered, another one at once, unless it
      comes within a tenth of a second: that is the same one, passed on twice.\
      """;

  // Draining may take this long before the log says what it waits for. Calls that end by then are
  // no news.
  private static final long QUIET_STOP_MILLIS = 100;

  // Bounds how long handlers that take no notice of their end can hold up that of the process.
  private static final long CLOSE_MILLIS = 1_000;

  private final Console console;
  private final Flags flags = PeerFlags.of("serve");
  private final Flags.Value<String> listen =
      flags.text("--listen", "HOST:PORT", "", "address; port 0 takes a free one");
  private final Flags.Value<String> unix =
      flags.text("--unix", "PATH", "", "Unix socket to listen on, as well or instead");
  private final Security security = Security.ofServer(flags);
  private final Flags.Value<Optional<Compression>> compression =
      PeerFlags.compression(flags, "answers, also to requests that came plain");
  private final Flags.Value<String> codec = PeerFlags.codec(flags);
  private final Flags.Value<Boolean> inline =
      flags.toggle("--inline", "run Say and Echo on the event loop, without a thread");
  private final Flags.Value<Boolean> virtual =
      flags.toggle("--virtual", "run handlers on virtual threads; wants Java 21 or later");
  private final Flags.Value<Work> work = Work.flag(flags);
  private final Flags.Value<Boolean> conformance =
      flags.toggle("--conformance", "answer ConformanceService as well");
  private final Flags.Value<Boolean> faults =
      flags.toggle("--faults", "answer FaultService as well, whose handlers misbehave as asked");
  private final Flags.Value<String> policyFile = PeerFlags.policyFile(flags);
  private final Flags.Value<String> onward =
      flags.text(
          "--onward", "ADDR", "", "pass calls of Behave on to the server there; needs --faults");
  private final Flags.Value<String> ledger =
      flags.text(
          "--ledger",
          "FILE",
          "",
          "append a line for each beginning and end of a handler whose call has an id");
  private final Flags.Value<Long> maxMessage =
      limit("--max-message", Limits.DEFAULTS.messageBytes(), "largest message, in bytes");
  private final Flags.Value<Long> maxCalls =
      limit("--max-calls", Limits.DEFAULTS.calls(), "calls that may be open on a connection");
  private final Flags.Value<Long> maxMetadata =
      limit("--max-metadata", Limits.DEFAULTS.metadataBytes(), "metadata of one side, in bytes");
  private final Flags.Value<Integer> runningHandlers =
      flags.number("--running-handlers", 0, 1, "handlers that may run at once");
  private final Flags.Value<Duration> grace =
      flags.time(
          "--grace", Duration.ofSeconds(30), "time for calls that run on after SIGTERM (30s)");
  private final Flags.Value<Optional<Store>> registry =
      PeerFlags.registry(flags, "in which the server is published", Registry::openStore);
  private final Flags.Value<Instance> instance =
      flags.add(
          "--instance",
          "JSON",
          Instance.NOTHING,
          "what its record says besides: weight, zone, version, attributes",
          Instance::of);
  private final Flags.Value<PeerFlags.Keepalive> keepalive =
      PeerFlags.keepalive(flags, Duration.ofSeconds(60));

  ServeCommand(Console console) {
    this.console = console;
  }

  private Flags.Value<Long> limit(String name, long unless, String help) {
    return flags.add(
        name,
        "N",
        unless,
        help,
        text -> {
          try {
            return Long.parseLong(text);
          } catch (NumberFormatException e) {
            throw new UsageError("want a number");
          }
        });
  }

  int run(List<String> words) throws UsageError, Failed, InterruptedException {
    if (!flags.parse(words)) {
      console.print(flags.help() + NOTES);
      return Program.OK;
    }
    if (!listen.given() && !unix.given()) {
      throw new UsageError("--listen or --unix is needed");
    }
    if (listen.given() && !listen.get().matches(".*:[^\\]:]+")) {
      throw new UsageError("--listen " + listen.get() + ": want HOST:PORT");
    }
    if (inline.get() && isStock()) {
      throw new UsageError(
          "--inline needs --codec " + PeerFlags.TYPED + ": the stock stubs have no such option");
    }
    if (onward.given() && !faults.get()) {
      throw new UsageError("--onward needs --faults");
    }
    Log.begin(console, Level.WARNING);
    Registrar registrar = registry.get().map(instance.get()::registrar).orElse(null);
    Ledger file = ledger.given() ? new Ledger(ledger.get()) : null;
    try (Onward tier = tier(file)) {
      return serve(make(registrar, file, tier), registrar);
    }
  }

  private @Nullable Onward tier(@Nullable Ledger file) throws UsageError {
    if (!onward.given()) {
      return null;
    }
    try {
      return new Onward(onward.get(), policyFile.get(), file);
    } catch (IllegalArgumentException e) {
      throw new UsageError("--onward " + onward.get() + ": " + e.getMessage());
    }
  }

  private int serve(Server server, @Nullable Registrar registrar)
      throws Failed, InterruptedException {
    // Before anybody can know that the server is there, and signal it.
    Signals signals = new Signals();
    String where = open(server);
    if (registrar == null || signals.awaitDone(registrar.published())) {
      console.print("listening " + where);
      signals.next();
    }
    stop(server, signals);
    return Program.OK;
  }

  private Server make(@Nullable Registrar registrar, @Nullable Ledger file, @Nullable Onward tier)
      throws UsageError {
    Tls tls = security.tls();
    ServerBuilder builder =
        Server.builder().keepalive(keepalive.get().interval(), keepalive.get().timeout());
    if (tls != null) {
      builder.tls(tls).allowCleartext(security.allowCleartext());
    }
    compression.get().ifPresent(builder::compression);
    if (runningHandlers.given()) {
      builder.runningHandlers(runningHandlers.get());
    }
    if (isStock()) {
      builder.serve(GrpcServices.handlers(new StockUsers(), new StockBench(work.get())));
    } else {
      Users.handlers().forEach(builder::serve);
      BenchMethods.handlers(work.get(), inline.get()).forEach(builder::serve);
    }
    builder.serve(
        GrpcServices.handlers(
            new HealthStatusManager().getHealthService(),
            ProtoReflectionServiceV1.newInstance(),
            ProtoReflectionService.newInstance()));
    CodeFirstServices.handlers().forEach(builder::serve);
    if (conformance.get()) {
      new Service().handlers().forEach(builder::serve);
    }
    if (registrar != null) {
      builder.registrar(registrar);
    }
    Server server;
    try {
      builder.limits(
          Limits.DEFAULTS
              .withMessageBytes(maxMessage.get())
              .withCalls(Math.toIntExact(maxCalls.get()))
              .withMetadata(Math.toIntExact(maxMetadata.get()), Limits.DEFAULTS.metadataEntries()));
      if (virtual.get()) {
        builder.virtualThreads();
      }
      if (policyFile.given()) {
        builder.policyFile(Path.of(policyFile.get()));
      }
      if (file != null) {
        builder.serverInterceptor(file::intercept);
      }
      server = builder.build();
    } catch (IllegalArgumentException | ArithmeticException | UnsupportedOperationException e) {
      throw new UsageError(String.valueOf(e.getMessage()));
    }
    if (faults.get()) {
      FaultMethods.handlers(() -> running(server), tier).forEach(server::register);
    }
    return server;
  }

  private boolean isStock() {
    return codec.get().equals(PeerFlags.STOCK);
  }

  private static long running(Server server) {
    return server.gauges().join().runningHandlers();
  }

  /** Opens the listeners and returns the address to announce: the TCP one if there is one. */
  private String open(Server server) throws Failed {
    String announced = "";
    if (unix.given()) {
      announced = open("--unix", () -> "unix:" + unix.get(), server);
      if (listen.given()) {
        Log.info("listening", "address", announced);
      }
    }
    return listen.given() ? open("--listen", listen::get, server) : announced;
  }

  private static String open(String flag, Supplier<String> where, Server server) throws Failed {
    try {
      return server.listen(where.get());
    } catch (IOException | IllegalArgumentException e) {
      throw new Failed(flag + " " + where.get() + ": " + e.getMessage(), e);
    }
  }

  /** Drains the server for as long as the grace period; another signal cuts that short. */
  private void stop(Server server, Signals signals) throws Failed, InterruptedException {
    CompletableFuture<Boolean> draining = inThread("stop", () -> server.stop(grace.get()));
    if (!isDoneWithin(draining, QUIET_STOP_MILLIS) && running(server) > 0) {
      String text = "waiting for calls that still run; another signal cuts them off";
      Log.info(text, "calls", running(server));
    }
    signals.forget();
    CompletableFuture<Boolean> cut =
        inThread(
            "signals",
            () -> {
              try {
                signals.next();
              } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
              }
              return true;
            });
    isDoneWithin(CompletableFuture.anyOf(draining, cut), grace.get().toMillis() + CLOSE_MILLIS);
    if (draining.isDone()) {
      if (!draining.join()) {
        throw new Failed("the grace period is over: calls that still ran were cut off");
      }
      return;
    }
    if (!cut.isDone()) {
      throw new Failed("the grace period is over: calls that still ran were left");
    }
    isDoneWithin(
        inThread(
            "close",
            () -> {
              server.close();
              return true;
            }),
        CLOSE_MILLIS);
    throw new Failed("a second signal came: calls that were running are cut off");
  }

  private static <T> CompletableFuture<T> inThread(String name, Supplier<T> work) {
    return CompletableFuture.supplyAsync(
        work,
        task -> {
          Thread thread = new Thread(task, name);
          thread.setDaemon(true);
          thread.start();
        });
  }

  private static boolean isDoneWithin(CompletableFuture<?> what, long millis)
      throws InterruptedException {
    try {
      what.get(millis, TimeUnit.MILLISECONDS);
      return true;
    } catch (TimeoutException e) {
      return false;
    } catch (ExecutionException e) {
      throw new IllegalStateException(e);
    }
  }
}
