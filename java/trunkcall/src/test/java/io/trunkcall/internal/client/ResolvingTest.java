package io.trunkcall.internal.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.trunkcall.Endpoint;
import io.trunkcall.Resolver;
import io.trunkcall.Watch;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Where endpoints come from (client.md 8). */
@Timeout(60)
final class ResolvingTest {
  private final Bench bench = new Bench();
  private final List<Watch> watches = new ArrayList<>();

  /** A resolver that returns at once; the test tells the sets. */
  private final Resolver registry = watches::add;

  private static List<Endpoint> set(String... addresses) {
    return Stream.of(addresses).map(Endpoint::of).toList();
  }

  private List<String> known() {
    return bench.endpoints().order().stream().map(one -> one.endpoint().identity()).toList();
  }

  /** Begins to resolve. */
  private void begin(Resolver resolver) {
    bench.make("test:rest", resolver);
    assertNull(bench.endpoints().pick(bench.call()));
    bench.clockwork.settle();
  }

  @Test
  void aResolverIsAskedWithTheFirstCallAndGivenTheRest() {
    bench.make("test:rest", registry);
    bench.clockwork.advance(Duration.ofMinutes(1));
    assertEquals(List.of(), watches);
    assertTrue(bench.endpoints().order().isEmpty());
    begin(registry);
    assertEquals("rest", watches.get(0).target());
  }

  @Test
  void callsWaitForTheResolverAndThenGoThere() {
    begin(watch -> watch.set(set("a:1")));
    assertEquals("a:1", bench.reach().remote);
    bench.clockwork.advance(Duration.ofMinutes(5));
    assertEquals(List.of("a:1"), known());
  }

  @Test
  void beforeThereIsASetACallHasHopeUntilTheResolverFails() {
    CountDownLatch never = new CountDownLatch(1);
    bench.threads = work -> {};
    begin(watch -> never.await());
    assertTrue(bench.endpoints().hopeful());
    assertEquals("the resolver", bench.endpoints().waitsFor());
  }

  @Test
  void aResolverThatThrowsIsNamedAndCalledAgainLaterEachTime() {
    List<Long> asked = new ArrayList<>();
    begin(
        watch -> {
          asked.add(bench.clockwork.millis());
          throw new IOException("the registry is away");
        });
    assertFalse(bench.endpoints().hopeful());
    assertEquals("resolver test: IOException: the registry is away", bench.endpoints().whyNone());
    bench.clockwork.advance(Duration.ofMinutes(2));
    assertTrue(asked.size() >= 12, "asked " + asked.size() + " times");
    for (int n = 1; n < asked.size(); n++) {
      assertTrue(asked.get(n) - asked.get(n - 1) <= Backoff.longest(n).toMillis() + 1);
    }
    assertEquals(1, bench.logged.size(), "the same reason is logged once");
    assertTrue(bench.logged.get(0).startsWith("WARNING target test:rest: resolver test: "));
  }

  @Test
  void aResolverThatReturnsWithoutASetHasFailed() {
    begin(registry);
    assertEquals("resolver test: it returned without a set", bench.endpoints().whyNone());
    bench.clockwork.advance(Duration.ofSeconds(1));
    assertTrue(watches.size() > 1);
  }

  @Test
  void aBadSetIsRefusedAndWhoToldItIsToldWhy() {
    List<String> told = new ArrayList<>();
    begin(
        watch -> {
          Exception fault =
              assertThrows(IllegalArgumentException.class, () -> watch.set(set("a:1", "nowhere")));
          told.add(fault.getMessage());
          watch.set(List.of()); // not caught
        });
    assertEquals(1, told.size());
    assertTrue(told.get(0).startsWith("endpoint nowhere: target \"nowhere\": it has no port"));
    assertEquals("resolver test: the set of endpoints is empty", bench.endpoints().whyNone());
  }

  @Test
  void aSetOfMoreThan100000EndpointsIsRefused() {
    List<Endpoint> most = new ArrayList<>(Collections.nCopies(100_000, Endpoint.of("a:1")));
    assertEquals(1, Resolved.check(most).size());
    most.add(Endpoint.of("b:1"));
    Exception fault = assertThrows(IllegalArgumentException.class, () -> Resolved.check(most));
    assertEquals("a set of 100,001 endpoints, of at most 100,000", fault.getMessage());
  }

  @Test
  void theLastGoodSetStays() {
    begin(
        watch -> {
          watches.add(watch);
          watch.set(set("a:1"));
        });
    assertThrows(IllegalArgumentException.class, () -> watches.get(0).set(List.of()));
    bench.clockwork.advance(Duration.ofSeconds(1));
    assertEquals(List.of("a:1"), known());
    assertTrue(
        bench.logged.stream().anyMatch(one -> one.endsWith("is empty; the last good set stays")),
        bench.logged.toString());
    assertNotNull(bench.reach());
  }

  @Test
  void aResolverThatFailsAfterAGoodSetBeginsItsPausesAnew() {
    List<Long> asked = new ArrayList<>();
    begin(
        watch -> {
          asked.add(bench.clockwork.millis());
          watch.set(set("a:1"));
          throw new IOException("away");
        });
    bench.clockwork.advance(Duration.ofSeconds(10));
    assertTrue(asked.size() > 50, "at most 100 ms from one to the next");
    assertEquals(List.of("a:1"), known());
  }

  @Test
  void ofSetsInQuickSuccessionTheLastCounts() {
    begin(watch -> watches.add(watch));
    Watch watch = watches.get(0);
    for (int i = 0; i < 50; i++) {
      watch.set(set("s" + i + ":1"));
    }
    bench.clockwork.settle();
    assertEquals(List.of("s0:1"), known());
    bench.clockwork.advance(Duration.ofMillis(9));
    assertEquals(List.of("s0:1"), known());
    bench.clockwork.advance(Duration.ofMillis(1));
    assertEquals(List.of("s49:1"), known());
  }

  @Test
  void anotherThreadMayTellAfterTheResolverHasReturned() throws InterruptedException {
    begin(
        watch -> {
          watches.add(watch);
          watch.set(set("a:1"));
        });
    Thread other = new Thread(() -> watches.get(0).set(set("b:1")));
    other.start();
    other.join();
    bench.clockwork.advance(Duration.ofMillis(20));
    assertEquals(List.of("b:1"), known());
  }

  @Test
  void endpointsThatStandTwiceAreLogged() {
    begin(watch -> watch.set(set("a:1", "a:1")));
    assertEquals(List.of("a:1"), known());
    assertEquals(
        List.of("WARNING target test:rest: endpoints stand twice in a set; the first counts"),
        bench.logged);
  }

  @Test
  void aResolverLearnsThatAnEndpointFailed() throws InterruptedException {
    bench.down.add("a:1");
    begin(
        watch -> {
          watches.add(watch);
          watch.set(set("a:1"));
        });
    assertFalse(watches.get(0).awaitFailure(Duration.ZERO));
    assertNull(bench.reach());
    assertTrue(watches.get(0).awaitFailure(Duration.ZERO));
    assertFalse(watches.get(0).awaitFailure(Duration.ZERO), "told once");
  }

  @Test
  void closingInterruptsTheResolver() throws InterruptedException {
    CountDownLatch began = new CountDownLatch(1);
    CountDownLatch interrupted = new CountDownLatch(1);
    bench.threads = work -> new Thread(work).start();
    begin(
        watch -> {
          began.countDown();
          try {
            watch.awaitFailure(Duration.ofDays(1));
          } catch (InterruptedException closed) {
            interrupted.countDown();
          }
        });
    assertTrue(began.await(30, TimeUnit.SECONDS));
    bench.endpoints().stop();
    assertTrue(interrupted.await(30, TimeUnit.SECONDS));
  }

  @Test
  void afterItWasClosedSetsAreDropped() {
    begin(
        watch -> {
          watches.add(watch);
          watch.set(set("a:1"));
        });
    bench.endpoints().stop();
    watches.get(0).set(set("b:1"));
    bench.clockwork.advance(Duration.ofSeconds(1));
    assertEquals(List.of("a:1"), known());
  }
}
