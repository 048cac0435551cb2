package io.trunkcall;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.trunkcall.Governing.Counting;
import io.trunkcall.internal.policy.PolicyFile;
import io.trunkcall.internal.policy.Sources;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Policy files as they are read, watched and exchanged (policy.md 5.6). */
@Timeout(120)
final class PolicyFileTest {
  private static final String ONCE = "defaults:\n  retries: none\n";
  private static final String THREE_TIMES =
      "defaults:\n  idempotent: true\n  retries:\n    backoff: 1ns\n";

  @TempDir private Path folder;

  /** What an observer is told of policy files. */
  private static final class Heard implements Observer {
    final LinkedBlockingQueue<String> events = new LinkedBlockingQueue<>();

    @Override
    public void policyTaken(String file) {
      events.add("taken " + Path.of(file).getFileName());
    }

    @Override
    public void policyRefused(String file, String why) {
      events.add("refused " + Path.of(file).getFileName() + ": " + why);
    }

    String next() throws InterruptedException {
      return events.poll(Pair.PATIENCE.toSeconds(), TimeUnit.SECONDS);
    }
  }

  private static int runs(Governing bench, Counting server) {
    int before = server.runs.get();
    CompletableFuture<?> call = bench.begin();
    Pair.until(
        () -> {
          bench.time.advance(Duration.ofNanos(10));
          return call.isDone();
        },
        "it does not end");
    return server.runs.get() - before;
  }

  @Test
  void aFileIsExchangedWhileTheClientIsThere() throws Exception {
    Heard heard = new Heard();
    Counting server = Counting.fails(Code.UNAVAILABLE);
    try (Governing bench = new Governing(folder, ONCE, client -> client.observer(heard), server)) {
      assertEquals(1, runs(bench, server));
      Governing.exchange(bench.file, THREE_TIMES);
      bench.look();
      assertEquals("taken policy.yaml", heard.next());
      assertEquals(3, runs(bench, server));

      Governing.exchange(bench.file, "defaults:\n  timeout: soon\n  jitter: 1\n");
      bench.look();
      bench.look(); // it is said once
      assertEquals(
          "refused policy.yaml: line 3: defaults.timeout: want a duration from 1ns to 24h, found"
              + " \"soon\"; line 4: defaults.jitter: unknown field",
          heard.next());
      assertEquals(3, runs(bench, server)); // what held before holds on

      Files.delete(bench.file);
      bench.look();
      assertEquals("refused policy.yaml: there is no such file", heard.next());
      assertEquals(3, runs(bench, server));

      Governing.exchange(bench.file, ONCE);
      bench.look();
      assertEquals("taken policy.yaml", heard.next());
      assertEquals(1, runs(bench, server));
      assertTrue(heard.events.isEmpty(), heard.events::toString);
    }
  }

  @Test
  void aStateStaysThatNoMethodCalledSoFarShares() {
    Counting server = Counting.sleeps();
    String limit = "defaults:\n  concurrency:\n    limit: 1\n";
    try (Governing bench = new Governing(folder, limit, server)) {
      CompletableFuture<?> call = bench.begin();
      Pair.until(() -> server.runs.get() == 1, "it does not run");
      Governing.exchange(
          bench.file,
          limit
              + "services:\n  test.Texts:\n    methods:\n      Say:\n        concurrency: none\n");
      bench.look();
      Supplier<CompletableFuture<?>> other =
          () -> bench.client.unary(Texts.OTHER, "x", CallOptions.NONE);
      assertEquals(
          "concurrency of defaults is used up", Governing.failure(other.get()).status().message());
      call.cancel(true);
      Pair.until(
          () -> Governing.failure(other.get()).code() == Code.UNIMPLEMENTED, "it has no place");
    }
  }

  @Test
  void aFileThatIsBeingWrittenIsLeftAlone() throws Exception {
    Heard heard = new Heard();
    try (Governing bench =
        new Governing(folder, ONCE, client -> client.observer(heard), Counting.succeeds())) {
      WatchedPolicyFile watched = bench.client.calling.file;
      Governance before = watched.current();
      for (String more : List.of("", "budget: {}\n", "budget: {}\nservices: {}\n")) {
        Governing.exchange(bench.file, more); // it is good each time, and yet changes
        watched.look(bench.client.told());
      }
      assertSame(before, watched.current());
      watched.look(bench.client.told());
      assertEquals("taken policy.yaml", heard.next());
      assertNotSame(before, watched.current());
      Files.writeString(bench.file, "policy: 1\ndefaults:\n");
      bench.look();
      assertTrue(heard.next().contains("may be half written"));
    }
  }

  @Test
  void clientsAndServersLookByThemselves() throws Exception {
    Heard client = new Heard();
    Heard server = new Heard();
    Path file = folder.resolve("both.yaml");
    Governing.exchange(file, ONCE);
    try (Pair pair =
        new Pair(
            builder -> builder.policyFile(file).observer(server),
            builder -> builder.policyFile(file).observer(client))) {
      Governing.exchange(file, THREE_TIMES);
      assertEquals("taken both.yaml", client.next());
      assertEquals("taken both.yaml", server.next());
    }
  }

  @Test
  void aCallEndsByTheRulesItBeganWith() {
    Counting server = Counting.fails(Code.UNAVAILABLE);
    String file = "defaults:\n  idempotent: true\n  retries:\n    backoff: 1s\n    jitter: 0\n";
    try (Governing bench = new Governing(folder, file, server)) {
      CompletableFuture<?> call = bench.begin();
      bench.time.untilPause();
      Governing.exchange(bench.file, ONCE);
      bench.look();
      bench.time.advance(Duration.ofSeconds(1));
      bench.time.untilPause();
      bench.time.advance(Duration.ofSeconds(2));
      Governing.failure(call);
      assertEquals(3, server.runs.get());
    }
  }

  @Test
  void aBadFileFailsAtOnce() throws IOException {
    Path file = folder.resolve("bad.yaml");
    ClientBuilder client = Client.builder("127.0.0.1:1").policyFile(file);
    ServerBuilder server = Server.builder().policyFile(file);
    fails(client::build, "option policyFile: " + file + ": there is no such file");
    Governing.exchange(file, "defaults:\n  retries:\n    attempts: 0\n");
    String want =
        "option policyFile: "
            + file
            + ": line 4: defaults.retries.attempts: want a whole number from 1 to 10, found 0";
    fails(client::build, want);
    fails(server::build, want);
    Files.writeString(file, "x".repeat(PolicyFile.LONGEST + 1));
    fails(
        client::build,
        "option policyFile: " + file + ": line 1: the file has more than 1048576 bytes");
  }

  private static Path pipe(Path path) throws IOException, InterruptedException {
    Files.deleteIfExists(path);
    assertEquals(0, new ProcessBuilder("mkfifo", path.toString()).start().waitFor());
    return path;
  }

  @Test
  void whatIsNoRegularFileIsRefusedAtOnce() throws Exception {
    Path pipe = pipe(folder.resolve("pipe"));
    for (Path path : List.of(pipe, folder, Path.of("/dev/zero"))) {
      String want = "option policyFile: " + path + ": want a file, not a folder or the like";
      fails(Client.builder("127.0.0.1:1").policyFile(path)::build, want);
      fails(Server.builder().policyFile(path)::build, want);
    }
  }

  @Test
  void aPipeInTheFilesPlaceStopsNoWatching() throws Exception {
    Heard heard = new Heard();
    try (Governing bench =
        new Governing(folder, ONCE, client -> client.observer(heard), Counting.succeeds())) {
      pipe(bench.file);
      bench.look();
      bench.look();
      assertEquals("refused policy.yaml: want a file, not a folder or the like", heard.next());
      Governing.exchange(bench.file, THREE_TIMES);
      bench.look();
      assertEquals("taken policy.yaml", heard.next());
    }
  }

  private static void fails(Runnable made, String want) {
    String text = assertThrows(IllegalArgumentException.class, made::run).getMessage();
    assertTrue(text.startsWith(want), text);
  }

  @Test
  void optionsThatContradictAFile() {
    Path file = folder.resolve("good.yaml");
    Governing.exchange(file, ONCE);
    List<Consumer<ClientBuilder>> besides =
        List.of(
            client -> client.policy(Policy.forAll().timeout(Duration.ofSeconds(1)).build()),
            client -> client.timeout(Duration.ofSeconds(1)),
            client -> client.repeat(false));
    for (Consumer<ClientBuilder> beside : besides) {
      ClientBuilder client = Client.builder("127.0.0.1:1").policyFile(file);
      beside.accept(client);
      fails(
          client::build, "options policyFile and policy, timeout or repeat contradict each other");
    }
    fails(() -> Client.builder("127.0.0.1:1").zone(""), "option zone: the zone is empty");
  }

  private static PolicyFile parsed(String text) {
    try {
      return PolicyFile.parse(("policy: 1\n" + text + "...\n").getBytes(StandardCharsets.UTF_8));
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void statesStayWhereTheirRulesDo() {
    Sources sources = new TestTime().sources();
    String before =
        """
        defaults:
          rate:
            per_second: 1
          concurrency:
            limit: 1
          breaker:
            consecutive: 1
        """;
    Governance first = new Governance(parsed(before), null, "", sources, Timers.REAL);
    Rules one = first.of("/a.B/C");
    assertSame(one, first.of("/a.B/C"));
    assertSame(one.rate, first.of("/a.B/D").rate);
    assertNotSame(one.breaker, first.of("/a.B/D").breaker);
    String after = before.replace("limit: 1", "limit: 2");
    Governance second = new Governance(parsed(after), first, "", sources, Timers.REAL);
    Rules other = second.of("/a.B/C");
    assertSame(one.rate, other.rate);
    assertSame(one.breaker, other.breaker);
    assertSame(one.budget, other.budget);
    assertNotSame(one.concurrency, other.concurrency);
    Governance third =
        new Governance(
            parsed("budget:\n  percent: 20\n" + after), second, "", sources, Timers.REAL);
    assertNotSame(other.budget, third.of("/a.B/C").budget);
    assertSame(other.concurrency, third.of("/a.B/C").concurrency);
  }

  @Test
  void namesThatAProgramMakesUpAreNotKept() {
    String file = "defaults:\n  breaker:\n    consecutive: 1\n";
    Governance governance =
        new Governance(parsed(file), null, "", new TestTime().sources(), Timers.REAL);
    for (int name = 0; name < 4_096; name++) {
      assertTrue(governance.of("/a.B/" + name).breaker != null);
    }
    assertEquals(null, governance.of("/a.B/more").breaker);
    assertTrue(governance.of("/a.B/7").breaker != null);
  }
}
