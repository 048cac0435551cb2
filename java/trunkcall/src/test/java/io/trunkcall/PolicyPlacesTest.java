package io.trunkcall;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.trunkcall.Governing.Counting;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Where calls under a policy file go: ejection, zones, balancers (policy.md 11 and 14). */
@Timeout(120)
final class PolicyPlacesTest {
  @TempDir private Path folder;

  @Test
  void endpointsThatFailAreLeftOut() {
    Counting bad = Counting.fails(Code.INTERNAL);
    Counting good = Counting.succeeds();
    String file = "defaults:\n  outliers:\n    consecutive: 2\n    eject: 30s\n    cap: 50\n";
    try (Governing bench = new Governing(folder, file, bad, good)) {
      int failed = 0;
      for (int call = 0; call < 100; call++) {
        failed += bench.begin().handle((answer, error) -> error == null ? 0 : 1).join();
      }
      assertEquals(2, failed);
      assertEquals(2, bad.runs.get());
      bench.time.advance(Duration.ofSeconds(37)); // it is back
      for (int call = 0; call < 10; call++) {
        bench.begin().handle((answer, error) -> 0).join();
      }
      assertEquals(4, bad.runs.get());
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
