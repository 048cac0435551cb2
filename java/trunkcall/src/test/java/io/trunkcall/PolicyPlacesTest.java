package io.trunkcall;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.trunkcall.Governing.Counting;
import io.trunkcall.registry.Logged;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Where calls under a policy file go: ejection, zones, balancers (policy.md 11 and 14). */
@Timeout(120)
final class PolicyPlacesTest {
  @TempDir private Path folder;

  private static List<Integer> runs(Counting... servers) {
    return Stream.of(servers).map(one -> one.runs.get()).toList();
  }

  /** Makes so many calls, one after the other. How many of them failed. */
  private static int failed(Governing bench, int calls) {
    int failed = 0;
    for (int call = 0; call < calls; call++) {
      failed += bench.begin().handle((answer, error) -> error == null ? 0 : 1).join();
    }
    return failed;
  }

  @Test
  void endpointsThatFailAreLeftOut() {
    Counting bad = Counting.fails(Code.INTERNAL);
    Counting good = Counting.succeeds();
    String file = "defaults:\n  outliers:\n    consecutive: 2\n    eject: 30s\n    cap: 50\n";
    try (Logged log = new Logged();
        Governing bench = new Governing(folder, file, bad, good)) {
      assertEquals(2, failed(bench, 100));
      assertEquals(2, bad.runs.get());
      Pair.until(
          () ->
              log.texts().stream()
                  .anyMatch(one -> one.contains("endpoint ejected: server 0 of some:where, for ")),
          "the ejection is not told with its target");
      bench.time.advance(Duration.ofSeconds(37)); // it is back
      failed(bench, 10);
      assertEquals(4, bad.runs.get());
    }
  }

  private static List<List<String>> ejected(Governing bench) {
    return Pair.await(bench.client.endpoints()).stream().map(EndpointGauges::ejected).toList();
  }

  @Test
  void theScopesThatLeaveAnEndpointOutAreTold() {
    Counting bad = Counting.fails(Code.INTERNAL);
    Counting good = Counting.succeeds();
    String file =
        "defaults:\n  outliers:\n    consecutive: 9\n"
            + "services:\n  test.Texts:\n    methods:\n      Say:\n        outliers:\n"
            + "          consecutive: 2\n          eject: 30s\n          cap: 50\n";
    try (Governing bench = new Governing(folder, file, bad, good)) {
      assertEquals(List.of(List.of(), List.of()), ejected(bench));
      failed(bench, 4);
      String method = "services.\"test.Texts\".methods.Say";
      assertEquals(List.of(List.of(method), List.of()), ejected(bench));
      bench.time.advance(Duration.ofSeconds(37)); // it is back
      assertEquals(List.of(List.of(), List.of()), ejected(bench));
    }
  }

  @Test
  void noMoreAreLeftOutThanTheCapAllows() {
    Counting[] servers = new Counting[5]; // of which all but the last fail
    Arrays.setAll(servers, n -> n < 4 ? Counting.fails(Code.INTERNAL) : Counting.succeeds());
    String file = "defaults:\n  outliers:\n    consecutive: 2\n    eject: 30s\n    cap: 40\n";
    try (Governing bench = new Governing(folder, file, servers)) {
      for (int round = 0; round < 2; round++) {
        failed(bench, 20); // so often that all are left out that can be
        List<Integer> before = runs(servers);
        assertEquals(40, failed(bench, 60));
        List<Integer> after = runs(servers);
        List<Integer> each =
            IntStream.range(0, 5).mapToObj(n -> after.get(n) - before.get(n)).toList();
        assertEquals(List.of(0, 0, 20, 20, 20), each.stream().sorted().toList());
        assertEquals(20, each.get(4));
        bench.time.advance(Duration.ofSeconds(37)); // both are back
      }
    }
  }

  @Test
  void zonesArePreferredAndOverflow() {
    List<Counting> servers = List.of(Counting.succeeds(), Counting.succeeds(), Counting.succeeds());
    String file = "defaults:\n  zones:\n    overflow_calls: 3\n";
    try (Governing bench =
        new Governing(
            folder, file, client -> client.zone("here"), servers.toArray(Counting[]::new))) {
      for (int call = 0; call < 6; call++) {
        bench.call();
      }
      assertEquals(List.of(3, 0, 3), servers.stream().map(one -> one.runs.get()).toList());
      servers.forEach(one -> one.answer = Counting.sleeps().answer);
      List<CompletableFuture<?>> calls = new ArrayList<>();
      for (int call = 1; call <= 10; call++) {
        calls.add(bench.begin());
        int want = 6 + call;
        Pair.until(
            () -> servers.stream().mapToInt(one -> one.runs.get()).sum() == want, "it is not made");
      }
      assertEquals(4, servers.get(1).runs.get()); // those beyond 3 at each of two
      calls.forEach(one -> one.cancel(true));
    }
  }

  @Test
  void aZoneIsLeftAsFarAsItIsNotHealthy() {
    for (int healthy : List.of(50, 100)) {
      Counting[] servers = {
        Counting.succeeds(), Counting.succeeds(), Counting.fails(Code.UNAVAILABLE)
      };
      String file =
          "defaults:\n  outliers:\n    consecutive: 1\n    eject: 30s\n    cap: 50\n"
              + "  zones:\n    healthy: "
              + healthy
              + "\n";
      try (Governing bench = new Governing(folder, file, client -> client.zone("here"), servers)) {
        while (failed(bench, 1) == 0) {
          // The last is not ejected yet, which is half of the zone.
        }
        assertEquals(0, servers[1].runs.get());
        servers[2].answer = Counting.succeeds().answer;
        assertEquals(0, failed(bench, 200));
        int elsewhere = servers[1].runs.get();
        if (healthy == 50) {
          assertEquals(0, elsewhere);
        } else {
          assertTrue(elsewhere > 60 && elsewhere < 140, elsewhere + " went elsewhere");
        }
        assertEquals(1, servers[2].runs.get());
        bench.time.advance(Duration.ofSeconds(37)); // it is back
        assertEquals(0, failed(bench, 20));
        assertEquals(elsewhere, servers[1].runs.get());
        assertEquals(11, servers[2].runs.get());
      }
    }
  }

  @Test
  void aZoneIsLeftAsFarAsItsServersAreGone() {
    Counting[] servers = {Counting.succeeds(), Counting.succeeds(), Counting.succeeds()};
    String file = "defaults:\n  zones:\n    healthy: 100\n";
    try (Governing bench = new Governing(folder, file, client -> client.zone("here"), servers)) {
      failed(bench, 20);
      assertEquals(List.of(10, 0, 10), runs(servers));
      bench.servers.get(2).close();
      Pair.until(
          () -> Pair.await(bench.client.endpoints()).get(2).state() != State.READY,
          "the server is still there");
      assertEquals(0, failed(bench, 200));
      int elsewhere = servers[1].runs.get();
      assertTrue(elsewhere > 60 && elsewhere < 140, elsewhere + " went elsewhere");
    }
  }

  @Test
  void aBalancerOfTheFileGoesByTheKey() {
    List<Counting> servers = List.of(Counting.succeeds(), Counting.succeeds(), Counting.succeeds());
    String file = "services:\n  test.Texts:\n    balancer:\n      name: hash\n      key: user\n";
    try (Governing bench = new Governing(folder, file, servers.toArray(Counting[]::new))) {
      CallOptions ada = CallOptions.NONE.withMetadata(Metadata.of("user", "ada"));
      for (int call = 0; call < 30; call++) {
        Pair.await(bench.begin(ada));
      }
      assertEquals(
          List.of(0, 0, 30), servers.stream().map(one -> one.runs.get()).sorted().toList());
    }
  }

  /** Takes what comes first, and no class of ours. */
  private static final class Own implements Balancer {
    @Override
    public Picker balance(List<EndpointState> endpoints) {
      return call -> endpoints.get(0);
    }
  }

  @Test
  void rulesBeforeABalancerOfTheUsersAreRefused() {
    Path file = folder.resolve("own.yaml");
    String zones = "defaults:\n  zones: {}\n  outliers:\n    consecutive: 1\n";
    Governing.exchange(file, zones);
    ClientBuilder builder = Client.builder("127.0.0.1:1").policyFile(file).balancer(new Own());
    String text = assertThrows(IllegalArgumentException.class, builder::build).getMessage();
    for (String part : List.of("outliers", "zones")) {
      String want =
          "line 2: defaults: " + part + " before the balancer " + Own.class.getName() + " is not";
      assertTrue(text.contains(want), text);
    }
    Governing.exchange(file, zones + "  balancer:\n    name: first\n");
    builder.build().close();
  }

  @Test
  void hedgesAvoidTheLastEndpointWhereABalancerOfTheUsersChooses() {
    Balancer own =
        endpoints ->
            call -> endpoints.stream().filter(one -> one != call.avoid()).findFirst().orElseThrow();
    Counting[] servers = Stream.generate(Counting::sleeps).limit(2).toArray(Counting[]::new);
    String file = "defaults:\n  idempotent: true\n  hedging:\n    delay: 1s\n";
    try (Governing bench = new Governing(folder, file, client -> client.balancer(own), servers)) {
      CompletableFuture<?> call = bench.begin();
      Pair.until(() -> servers[0].runs.get() == 1, "it does not run");
      bench.time.advance(Duration.ofSeconds(1));
      Pair.until(() -> servers[1].runs.get() == 1, "it is not hedged elsewhere");
      call.cancel(true);
    }
  }
}
