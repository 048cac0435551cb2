package io.trunkcall.load;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** The flags of bench, the same in every program that offers it. */
public final class Options {
  private static final String SERVICE = "trunkcall.bench.v1.BenchService";
  private static final Duration DEFAULT_DURATION = Duration.ofSeconds(5);
  private static final Duration DEFAULT_WARMUP = Duration.ofSeconds(1);
  private static final long DEFAULT_WARMUP_CALLS = 20_000;

  private final Flags.Value<String> target;
  private final Flags.Value<String> method;
  private final Flags.Value<Integer> connections;
  private final Flags.Value<Integer> callers;
  private final Flags.Value<Integer> calls;
  private final Flags.Value<Duration> duration;
  private final Flags.Value<Double> rate;
  private final Flags.Value<Duration> warmup;
  private final Flags.Value<Integer> size;

  /**
   * Adds the flags.
   *
   * @param methods of the benchmark service by their short names, the default first
   */
  public Options(Flags flags, List<String> methods) {
    target = flags.text("--target", "HOST:PORT", "", "address of the server");
    method =
        flags.add(
            "--method",
            "NAME",
            methods.get(0),
            "of " + SERVICE + ": " + String.join(", ", methods),
            text -> shortName(text, methods));
    connections = flags.number("--connections", 1, 1, "over which callers are spread evenly");
    callers = flags.number("--callers", 1, 1, "calls in flight");
    calls = flags.number("--calls", 0, 1, "end after so many calls in total");
    duration =
        flags.time(
            "--duration", DEFAULT_DURATION, "end after this time; 5s unless --calls is given");
    rate = flags.rate("--rate", "open loop: calls a second, each timed from when it was due");
    warmup =
        flags.time(
            "--warmup",
            DEFAULT_WARMUP,
            "uncounted load before the clock starts; 1s or 20000 calls unless given");
    size = flags.number("--size", 1024, 0, "bytes of payload, for Echo, EchoStream and Emit");
  }

  /** The short name of a method, however much of the whole name was given. */
  private static String shortName(String name, List<String> methods) throws UsageError {
    String whole = name.startsWith("/") ? name.substring(1) : name;
    String found = whole.startsWith(SERVICE + "/") ? whole.substring(SERVICE.length() + 1) : whole;
    if (!methods.contains(found)) {
      throw new UsageError("is not there, " + String.join(", ", methods) + " is");
    }
    return found;
  }

  /** Checks what no flag can check alone. For when the flags have been read. */
  public void check() throws UsageError {
    if (!target.given()) {
      throw new UsageError("--target is needed");
    }
    if (calls.given() && duration.given()) {
      throw new UsageError("--calls and --duration cannot go together");
    }
    if (duration.get().isZero()) {
      throw new UsageError("--duration must be above 0");
    }
  }

  /** The load that the flags ask for. */
  public Config config() {
    return new Config(
        calls.get(),
        calls.given() ? Duration.ZERO : duration.get(),
        rate.get(),
        warmup.get(),
        warmup.given() ? 0 : DEFAULT_WARMUP_CALLS);
  }

  /** The target as it was given. */
  public String address() {
    return target.get();
  }

  /** The target as a host and a port, for programs that know no others. */
  public Address target() throws UsageError {
    return Address.parse("--target", target.get());
  }

  public String method() {
    return method.get();
  }

  public int connections() {
    return connections.get();
  }

  public boolean connectionsGiven() {
    return connections.given();
  }

  public int callers() {
    return callers.get();
  }

  public double rate() {
    return rate.get();
  }

  public int size() {
    return size.get();
  }

  /** Deals connections out to the callers in turn. */
  public <T> List<T> spread(List<T> all) {
    List<T> dealt = new ArrayList<>();
    for (int caller = 0; caller < callers(); caller++) {
      dealt.add(all.get(caller % all.size()));
    }
    return dealt;
  }
}
