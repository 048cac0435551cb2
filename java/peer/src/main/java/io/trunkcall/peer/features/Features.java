package io.trunkcall.peer.features;

import io.trunkcall.AttemptObserver;
import io.trunkcall.CallAttempt;
import io.trunkcall.Client;
import io.trunkcall.ClientBuilder;
import io.trunkcall.registry.Registry;
import java.io.File;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.ToDoubleFunction;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.stream.Stream;

/**
 * What finding servers and policies cost a call, each switched on in turn, in the processor's time
 * of the client and of the servers: what BenchmarkFeatures measures in Go. These are two processes,
 * so that each side's time is its own. The time of the machine moves by more than what is measured.
 * So each row is measured beside a client without anything, in turns, and what it takes more is the
 * median of the turns' differences: the row "none" says how far that can be trusted. Three servers
 * are three connections, where fewer calls share a system call, as they do over three connections
 * to one server: that row says what of the others is due to it.
 */
public final class Features {
  private static final Logger LOGGER = Logger.getLogger("io.trunkcall"); // kept: levels are lost
  private static final String RETRIES =
      "defaults:\n  timeout: 10s\n  idempotent: true\n  retries:\n    attempts: 3\n";
  private static final String BREAKER = RETRIES + "  breaker:\n    percent: 50\n";
  private static final String LIMITS =
      "defaults:\n  server_rate:\n    per_second: 1000000\n"
          + "  server_concurrency:\n    limit: 1000\n";

  /** A row: servers, found in a registry, limits there; connections, policy and observer here. */
  private record Row(
      String name,
      int servers,
      boolean found,
      boolean limited,
      int connections,
      String policy,
      boolean observed) {}

  private static final List<Row> ROWS =
      List.of(
          new Row("none", 1, false, false, 1, "", false),
          new Row("three connections", 1, false, false, 3, "", false),
          new Row("balancing", 3, false, false, 1, "", false),
          new Row("registry", 3, true, false, 1, "", false),
          new Row("observer", 1, false, false, 1, "", true),
          new Row("retries", 1, false, false, 1, RETRIES, false),
          new Row("breaker", 1, false, false, 1, BREAKER, false),
          new Row("limits of the server", 1, false, true, 1, "", false),
          new Row("all over one connection", 1, false, true, 1, BREAKER, true),
          new Row("all", 3, true, true, 1, BREAKER, true));

  private final int turns;
  private final int calls;
  private final Path folder;
  private final ServersProcess servers;
  private final AtomicLong attempts = new AtomicLong();

  private Features(int turns, int calls, Path folder, ServersProcess servers) {
    this.turns = turns;
    this.calls = calls;
    this.folder = folder;
    this.servers = servers;
  }

  /**
   * Measures rows, by {@code threads} that block, or by calls that complete ({@code async}):
   *
   * <pre>Features threads|async TURNS CALLS [ROW...]</pre>
   */
  public static void main(String[] words) throws Exception {
    LOGGER.setLevel(Level.WARNING);
    if (words.length == 1 && words[0].equals(ServersProcess.CHILD)) {
      ServersProcess.serve();
      return;
    }
    if (words.length < 3) {
      throw new IllegalArgumentException("want threads|async, turns, calls a turn, and rows");
    }
    Path folder = Files.createTempDirectory("features");
    try {
      run(List.of(words), folder, System.out);
    } finally {
      try (Stream<Path> all = Files.walk(folder)) {
        all.sorted(Comparator.reverseOrder()).map(Path::toFile).forEach(File::delete);
      }
    }
  }

  /** Measures, with its files in {@code folder}. */
  static void run(List<String> words, Path folder, PrintStream out) throws Exception {
    int turns = Integer.parseInt(words.get(1));
    int calls = Integer.parseInt(words.get(2));
    try (ServersProcess servers = ServersProcess.start();
        Callers callers = Callers.of(words.get(0))) {
      new Features(turns, calls, folder, servers)
          .measure(callers, words.subList(3, words.size()), out);
    }
  }

  private void measure(Callers callers, List<String> names, PrintStream out) throws Exception {
    List<Row> rows =
        ROWS.stream().filter(row -> names.isEmpty() || names.contains(row.name)).toList();
    try (Client without = connected(Client.builder(servers.bare()))) {
      for (Row row : rows) { // all are compiled before anything is measured
        try (Client with = client(row)) {
          callers.make(without, calls);
          callers.make(with, 3 * calls);
        }
      }
      out.printf(
          "%-24s %9s %9s %9s %9s %9s %9s%n",
          "ns and bytes a call", "client", "server", "more", "more", "bytes", "more");
      for (Row row : rows) {
        try (Client with = client(row)) {
          report(row, callers, without, with, out);
        }
      }
    }
  }

  private void report(Row row, Callers callers, Client without, Client with, PrintStream out)
      throws Exception {
    callers.make(without, calls);
    callers.make(with, 2 * calls);
    List<Used> plain = new ArrayList<>();
    List<Used> featured = new ArrayList<>();
    for (int turn = 0; turn < turns; turn++) { // A B B A
      for (int i = 0; i < 2; i++) {
        if ((turn + i) % 2 == 0) {
          plain.add(used(callers, without));
        } else {
          featured.add(used(callers, with));
        }
      }
    }
    out.printf(
        Locale.ROOT,
        "%-24s %9.0f %9.0f %9.0f %9.0f %9.0f %9.0f%n",
        row.name,
        median(featured, Used::client),
        median(featured, Used::server),
        more(plain, featured, Used::client),
        more(plain, featured, Used::server),
        more(plain, featured, Used::clientBytes),
        more(plain, featured, Used::serverBytes));
  }

  private static double median(List<Used> of, ToDoubleFunction<Used> figure) {
    double[] all = of.stream().mapToDouble(figure).sorted().toArray();
    return all[all.length / 2];
  }

  private static double more(List<Used> without, List<Used> with, ToDoubleFunction<Used> figure) {
    double[] all = new double[with.size()];
    for (int i = 0; i < all.length; i++) {
      all[i] = figure.applyAsDouble(with.get(i)) - figure.applyAsDouble(without.get(i));
    }
    Arrays.sort(all);
    return all[all.length / 2];
  }

  /** What a call took: nanoseconds of the processor's time, and bytes of memory. */
  private record Used(double client, double server, double clientBytes, double serverBytes) {}

  private Used used(Callers callers, Client client) throws Exception {
    Usage there = servers.used();
    Usage here = Usage.now();
    callers.make(client, calls);
    Usage hereThen = Usage.now();
    Usage thereThen = servers.used();
    return new Used(
        (double) (hereThen.nanos() - here.nanos()) / calls,
        (double) (thereThen.nanos() - there.nanos()) / calls,
        (double) (hereThen.bytes() - here.bytes()) / calls,
        (double) (thereThen.bytes() - there.bytes()) / calls);
  }

  private Client client(Row row) throws IOException {
    Path published = Files.createTempDirectory(folder, "registry");
    String limits = row.limited ? policy(LIMITS).toString() : "";
    String addresses = servers.serve(row.servers, limits, row.found ? published.toString() : "");
    ClientBuilder builder =
        Client.builder(row.found ? "registry:s" : addresses).connections(row.connections);
    if (row.found) {
      builder.resolver("registry", Registry.resolver(Registry.open("file:" + published)));
    }
    if (!row.policy.isEmpty()) {
      builder.policyFile(policy(row.policy));
    }
    if (row.observed) {
      builder.attemptObserver(
          new AttemptObserver() {
            @Override
            public void attemptBegan(CallAttempt attempt) {}

            @Override
            public void attemptEnded(CallAttempt attempt) {
              attempts.incrementAndGet();
            }
          });
    }
    return connected(builder);
  }

  private static Client connected(ClientBuilder builder) {
    Client client = builder.build();
    client.connect().join();
    return client;
  }

  private Path policy(String text) throws IOException {
    Path file = Files.createTempFile(folder, "policy", ".yaml");
    return Files.writeString(file, "policy: 1\n" + text + "...\n");
  }
}
