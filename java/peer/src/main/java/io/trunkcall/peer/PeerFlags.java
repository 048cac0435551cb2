package io.trunkcall.peer;

import io.trunkcall.Compression;
import io.trunkcall.load.Flags;
import io.trunkcall.load.UsageError;
import io.trunkcall.registry.Registry;
import io.trunkcall.registry.Source;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;

/** What the command lines of several commands have in common. */
final class PeerFlags {
  /** Typed methods. */
  static final String TYPED = "protobuf";

  /** The stubs that the stock gRPC plugin generates. */
  static final String STOCK = "protobuf-stock";

  static final Map<String, Compression> COMPRESSIONS =
      Map.of("gzip", Compression.gzip(), "zstd", Compression.zstd());

  private PeerFlags() {}

  static Flags of(String command) {
    return new Flags(Program.NAME + " " + command);
  }

  static Flags.Value<String> codec(Flags flags) {
    return flags.choice(
        "--codec",
        List.of(TYPED, STOCK),
        "name of the codec: " + TYPED + ", or " + STOCK + ", which is grpc-java's stubs");
  }

  /** The compression that is asked for, if one is. */
  static Flags.Value<Optional<Compression>> compression(Flags flags, String what) {
    return flags.add(
        "--compression",
        "NAME",
        Optional.empty(),
        "name of the compression of " + what + ": gzip or zstd; none unless given",
        text -> {
          if (!COMPRESSIONS.containsKey(text)) {
            throw new UsageError("want gzip or zstd");
          }
          return Optional.ofNullable(COMPRESSIONS.get(text));
        });
  }

  /** The registry in which a client's target is found. */
  static Flags.Value<Optional<Source>> registry(Flags flags) {
    return registry(flags, "in which a target registry:SERVICE is found", Registry::open);
  }

  /** A registry, which {@code open} opens by its name. */
  static <T> Flags.Value<Optional<T>> registry(Flags flags, String what, Function<String, T> open) {
    return flags.add(
        "--registry",
        "NAME",
        Optional.empty(),
        "name of a registry " + what + ", such as file:/run/trunkcall",
        text -> {
          try {
            return Optional.of(open.apply(text));
          } catch (IllegalArgumentException fault) {
            throw new UsageError(String.valueOf(fault.getMessage()));
          }
        });
  }

  /** A time above 0; zero unless given. */
  static Flags.Value<Duration> timeAboveZero(Flags flags, String name, String help) {
    return flags.add(name, "TIME", Duration.ZERO, help, PeerFlags::aboveZero);
  }

  static Duration aboveZero(String text) throws UsageError {
    Duration time = Flags.duration(text);
    if (time.isZero()) {
      throw new UsageError("must be above 0");
    }
    return time;
  }

  /** After how long a silent peer is asked for a sign of life, and how long it has to give one. */
  record Keepalive(Duration interval, Duration timeout) {
    private static Keepalive of(String text) throws UsageError {
      int comma = text.indexOf(',');
      if (comma < 0) {
        throw new UsageError("want two times above 0, such as 20s,20s");
      }
      return new Keepalive(
          aboveZero(text.substring(0, comma)), aboveZero(text.substring(comma + 1)));
    }
  }

  /** What holds for calls. */
  static Flags.Value<String> policyFile(Flags flags) {
    return flags.text("--policy-file", "FILE", "", "what holds for the calls (spec/policy.md)");
  }

  /** {@code interval} is the framework's default, as is a timeout of 20 s (spec/limits.md 2). */
  static Flags.Value<Keepalive> keepalive(Flags flags, Duration interval) {
    return flags.add(
        "--keepalive",
        "INTERVAL,TIMEOUT",
        new Keepalive(interval, Duration.ofSeconds(20)),
        "when a silent peer is asked for a sign of life, and how long it has to give one",
        Keepalive::of);
  }
}
