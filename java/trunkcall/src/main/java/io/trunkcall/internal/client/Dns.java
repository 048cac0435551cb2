package io.trunkcall.internal.client;

import io.trunkcall.Endpoint;
import io.trunkcall.Resolver;
import io.trunkcall.Watch;
import io.trunkcall.internal.transport.Address;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/**
 * The addresses of a name, each an endpoint: {@code dns:HOST:PORT} (client.md 8.4). Asks again now
 * and then, and when an endpoint has failed.
 */
public final class Dns implements Resolver {
  private static final Duration INTERVAL = Duration.ofSeconds(30); // a fifth more or less
  private static final Duration PAUSE = Duration.ofSeconds(5); // between two questions at least

  /** What it takes of the machine. */
  interface Machine {
    List<String> addresses(String host) throws Exception;

    long nanos();

    void sleep(Duration time) throws InterruptedException;

    /** A random number from 0 to 1. */
    double random();
  }

  private final Machine machine;

  Dns() {
    this(new ThisMachine(host -> List.of(InetAddress.getAllByName(host))));
  }

  /** The same, which finds addresses by {@code lookup}. */
  public static Dns by(Lookup lookup) {
    return new Dns(new ThisMachine(lookup));
  }

  Dns(Machine machine) {
    this.machine = machine;
  }

  @Override
  public void resolve(Watch watch) throws Exception {
    Address place = place(watch.target());
    while (true) {
      Set<String> hosts = new LinkedHashSet<>(machine.addresses(place.host()));
      if (hosts.isEmpty()) {
        throw new UnknownHostException("the name " + place.host() + " has no address");
      }
      List<Endpoint> found = new ArrayList<>(hosts.size());
      for (String host : hosts) {
        String address = Address.tcp(host, place.port()).toString();
        found.add(Endpoint.builder(address).serverName(place.host()).build());
      }
      watch.set(found);
      long answered = machine.nanos();
      long interval = (long) (INTERVAL.toNanos() * (0.8 + 0.4 * machine.random()));
      if (watch.awaitFailure(Duration.ofNanos(interval))) {
        Duration left = PAUSE.minusNanos(machine.nanos() - answered);
        if (!left.isNegative()) {
          machine.sleep(left);
        }
      }
    }
  }

  /** Reads HOST:PORT. Throws IllegalArgumentException. */
  static Address place(String text) {
    Address found = named(text);
    if (found != null) {
      return found;
    }
    String bare = text.replaceFirst("^/+", "");
    String why =
        !bare.equals(text) && named(bare) != null
            ? "there are slashes in it, without which it is dns:" + bare + ": "
            : "";
    throw new IllegalArgumentException(
        "target \"dns:" + text + "\": " + why + "want dns:HOST:PORT");
  }

  private static @Nullable Address named(String text) {
    try {
      Address found = Address.parse(text);
      boolean fits = found.isTcp() && found.url().isEmpty() && !text.startsWith(":");
      return fits ? found : null;
    } catch (IllegalArgumentException fault) {
      return null;
    }
  }

  /** The machine itself. How long the runtime keeps answers is its own affair. */
  private static final class ThisMachine implements Machine {
    private final Lookup lookup;

    ThisMachine(Lookup lookup) {
      this.lookup = lookup;
    }

    @Override
    public List<String> addresses(String host) throws Exception {
      List<String> found = new ArrayList<>();
      for (InetAddress one : lookup.addresses(host)) {
        found.add(one.getHostAddress());
      }
      return found;
    }

    @Override
    public long nanos() {
      return System.nanoTime();
    }

    @Override
    public void sleep(Duration time) throws InterruptedException {
      Thread.sleep(time.toMillis() + 1);
    }

    @Override
    public double random() {
      return ThreadLocalRandom.current().nextDouble();
    }
  }
}
