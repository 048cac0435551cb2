package io.trunkcall.lab.smoke;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.trunkcall.lab.program.Peer;
import io.trunkcall.lab.program.Program;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Checks in a moment that a peer does as lab/README.md says: a server of it as a process of its
 * own, clients within the test.
 */
public final class Smoke implements AutoCloseable {
  private static final int CALLS = 50;
  private static final long PATIENCE_SECONDS = 60;
  private static final List<String> KEYS =
      List.of(
          "calls",
          "errors",
          "seconds",
          "rate",
          "mean_us",
          "p50_us",
          "p90_us",
          "p95_us",
          "p99_us",
          "p999_us",
          "max_us",
          "cpu_us",
          "answered_p50_us",
          "answered_p99_us");

  /** What a command left behind. */
  public record Said(int status, String out, String err) {}

  private final Supplier<? extends Peer> peer;
  private final Process server;
  private final String target;

  private Smoke(Supplier<? extends Peer> peer, Process server, String target) {
    this.peer = peer;
    this.server = server;
    this.target = target;
  }

  /** Starts a server. The peer's class has the method main. */
  public static Smoke serve(Supplier<? extends Peer> peer, String... flags) throws IOException {
    List<String> words = command(peer, "serve", "--listen", "127.0.0.1:0");
    words.addAll(List.of(flags));
    Process server =
        new ProcessBuilder(words).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    BufferedReader reader = server.inputReader(StandardCharsets.UTF_8);
    String first = reader.readLine();
    if (first == null || !first.matches("listening 127\\.0\\.0\\.1:[1-9]\\d*")) {
      server.destroyForcibly();
      throw new AssertionError("the first line is " + first);
    }
    return new Smoke(peer, server, first.substring("listening ".length()));
  }

  /** The command line of a process. */
  private static List<String> command(Supplier<? extends Peer> peer, String... words) {
    List<String> all = new ArrayList<>();
    all.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    // It lives for a few calls.
    all.addAll(List.of("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"));
    all.addAll(List.of("-cp", System.getProperty("java.class.path")));
    all.add(peer.get().getClass().getName());
    all.addAll(List.of(words));
    return all;
  }

  public String target() {
    return target;
  }

  /** Some calls by four callers, whose call functions check what comes back. */
  public void answers(String method, String... flags) {
    List<String> words = new ArrayList<>();
    words.addAll(List.of("bench", "--target", target, "--method", method, "--callers", "4"));
    words.addAll(List.of("--calls", "" + CALLS, "--warmup", "0"));
    words.addAll(List.of(flags));
    Said said = run(peer, words.toArray(String[]::new));
    assertEquals("", said.err(), () -> "bench " + words);
    assertEquals(0, said.status());
    Map<String, Double> figures = figures(said.out());
    assertEquals(KEYS, List.copyOf(figures.keySet()));
    assertEquals(CALLS, figures.get("calls"));
    assertEquals(0, figures.get("errors"));
    assertTrue(figures.get("rate") > 0 && figures.get("max_us") >= figures.get("p50_us"));
  }

  /** Ends the server as the lab does. */
  @Override
  public void close() throws InterruptedException {
    server.destroy(); // SIGTERM
    boolean ended = server.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS);
    if (!ended) {
      server.destroyForcibly();
    }
    assertTrue(ended, "the server has ended");
    assertEquals(0, server.exitValue());
  }

  /** Carries out one command within this process. */
  public static Said run(Supplier<? extends Peer> peer, String... words) {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    ByteArrayOutputStream err = new ByteArrayOutputStream();
    int status =
        Program.run(
            peer,
            List.of(words),
            new PrintStream(out, true, StandardCharsets.UTF_8),
            new PrintStream(err, true, StandardCharsets.UTF_8));
    return new Said(
        status, out.toString(StandardCharsets.UTF_8), err.toString(StandardCharsets.UTF_8));
  }

  /** The numbers of a line of JSON, by their keys and in their order. */
  public static Map<String, Double> figures(String line) {
    assertTrue(line.startsWith("{") && line.endsWith("}" + System.lineSeparator()), line);
    Map<String, Double> figures = new LinkedHashMap<>();
    Matcher figure = Pattern.compile("\"(\\w+)\":(-?\\d+(?:\\.\\d+)?)").matcher(line);
    while (figure.find()) {
      figures.put(figure.group(1), Double.valueOf(figure.group(2)));
    }
    return figures;
  }

  /** Each mistake in a command line is one line on stderr, and a status. */
  public static void mistakes(Supplier<? extends Peer> peer, String library) {
    refused(peer, 2, "want serve", new String[] {});
    refused(peer, 2, "want serve", "dance");
    refused(peer, 2, "--target is needed", "bench");
    refused(peer, 2, "--target here: want HOST:PORT", "bench", "--target", "here");
    refused(peer, 2, "--listen is needed", "serve");
    refused(peer, 2, "--listen here: want HOST:PORT", "serve", "--listen", "here");
    refused(peer, 2, "there is no flag --loud", "serve", "--listen", "127.0.0.1:0", "--loud");
    refused(
        peer,
        2,
        "--method Sing: is not there",
        "bench",
        "--target",
        "127.0.0.1:1",
        "--method",
        "Sing");
    refused(
        peer,
        2,
        "--handler sing: want one of plain",
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--handler",
        "sing");
    failsAsAProcess(peer);
    Said help = run(peer, "bench", "--help");
    assertEquals(0, help.status());
    assertTrue(help.out().contains("--target HOST:PORT"), help.out());
    Said version = run(peer, "version");
    String name = peer.get().name();
    assertTrue(
        version.out().matches(Pattern.quote(name + " " + library) + " \\d+\\.\\d+.*, .+\\R"),
        version.out());
  }

  /** A process that finds nobody says so in one line, whatever its framework logs. */
  private static void failsAsAProcess(Supplier<? extends Peer> peer) {
    List<String> words = command(peer, "bench", "--target", "127.0.0.1:1", "--callers", "2");
    try {
      Process process = new ProcessBuilder(words).start();
      String out = process.inputReader().lines().collect(Collectors.joining("\n"));
      String err = process.errorReader().lines().collect(Collectors.joining("\n"));
      assertTrue(process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS), "the client has ended");
      assertEquals(1, process.exitValue(), err);
      assertEquals("", out);
      assertTrue(err.startsWith(peer.get().name() + ": ") && !err.contains("\n"), err);
    } catch (IOException | InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  /** A command that fails with that status and that text. */
  public static void refused(
      Supplier<? extends Peer> peer, int status, String text, String... words) {
    Said said = run(peer, words);
    assertEquals(status, said.status(), () -> List.of(words) + " says " + said);
    assertEquals("", said.out());
    assertTrue(said.err().startsWith(peer.get().name() + ": " + text), said.err());
    assertEquals(1, said.err().lines().count(), said.err());
  }
}
