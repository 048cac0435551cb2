package io.trunkcall.internal.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.trunkcall.Balancer;
import io.trunkcall.Code;
import io.trunkcall.Delivery;
import io.trunkcall.Endpoint;
import io.trunkcall.State;
import io.trunkcall.StatusException;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Connections to endpoints: opened, kept, replaced and closed (client.md 9). */
final class ConnectingTest {
  private static final Duration LONG = Duration.ofSeconds(20);

  private final Bench bench = new Bench();

  private List<Resolved> set(String... addresses) {
    return Resolved.check(Stream.of(addresses).map(Endpoint::of).toList());
  }

  private void settle() {
    bench.clockwork.advance(Bench.DIALLING.multipliedBy(2));
  }

  @Test
  void nothingIsConnectedBeforeTheFirstCall() {
    bench.make("a:1,b:1");
    bench.clockwork.advance(LONG);
    assertEquals(List.of(), bench.dialled);
    assertEquals(List.of(State.IDLE, State.IDLE), bench.states());
  }

  @Test
  void allEndpointsAreConnectedWithTheFirstCall() {
    bench.make("a:1,b:1");
    assertNull(bench.endpoints().pick(bench.call()));
    assertEquals(List.of(State.CONNECTING, State.CONNECTING), bench.states());
    settle();
    assertEquals(List.of(State.READY, State.READY), bench.states());
  }

  @Test
  void aLazyBalancerHasOnlyThatConnectedWhichIsPicked() {
    bench.balancer = Balancer.first();
    bench.make("a:1,b:1");
    bench.calls();
    assertEquals(List.of(State.READY, State.IDLE), bench.states());
  }

  @Test
  void theGreetingIsWaitedForWhereThereIsAnotherWay() {
    bench.make("a:1");
    bench.calls();
    assertFalse(bench.dialled.get(0).greet());
    assertTrue(bench.dialled.get(0).alone());
    bench.links.get(0).breaks();
    bench.clockwork.advance(LONG);
    assertTrue(bench.dialled.get(1).greet(), "a server was reached before");
    bench.endpoints().apply(set("a:1", "b:1"));
    assertTrue(bench.dialled.get(2).greet());
    assertFalse(bench.dialled.get(2).alone());
  }

  @Test
  void afterEachFailureThePauseIsDrawnFromALongerTime() {
    bench.down.add("a:1");
    bench.make("a:1");
    assertNull(bench.reach());
    bench.clockwork.advance(Duration.ofMinutes(2));
    assertEquals(List.of(State.FAILING), bench.states());
    for (int n = 1; n < bench.dialledAt.size(); n++) {
      long pause = bench.dialledAt.get(n) - bench.dialledAt.get(n - 1) - 1;
      long longest = Backoff.longest(n).toMillis();
      assertTrue(pause <= longest + 1, "pause " + n + " was " + pause + " ms");
    }
    assertTrue(bench.dialledAt.size() >= 12, "at most 10 s from one to the next");
    assertEquals(bench.dialledAt.size(), bench.endpoint(0).failures());
    bench.down.clear();
    bench.clockwork.advance(LONG);
    assertEquals(List.of(State.READY), bench.states());
    assertEquals(0, bench.endpoint(0).failures());
  }

  @Test
  void aCallThatFailsFastSaysWhyThereIsNoConnection() {
    bench.down.addAll(List.of("a:1", "b:1"));
    bench.make("a:1,b:1");
    assertNull(bench.reach());
    assertEquals(
        "a:1: cannot reach a:1: refused; b:1: cannot reach b:1: refused",
        bench.endpoints().whyNone());
    assertEquals(2, bench.failed.size());
  }

  @Test
  void aSingleEndpointIsNotNamedTwice() {
    bench.down.add("a:1");
    bench.make("a:1");
    assertNull(bench.reach());
    assertEquals("cannot reach a:1: refused", bench.endpoints().whyNone());
  }

  @Test
  void anErrorNamesEightEndpointsAndHowManyMoreThereAre() {
    StringBuilder target = new StringBuilder("s0:1");
    bench.down.add("s0:1");
    for (int i = 1; i < 11; i++) {
      target.append(",s").append(i).append(":1");
      bench.down.add("s" + i + ":1");
    }
    bench.make(target.toString());
    assertNull(bench.reach());
    String why = bench.endpoints().whyNone();
    assertTrue(why.endsWith("s7:1: cannot reach s7:1: refused; and 3 more"), why);
  }

  @Test
  void whileAnAttemptIsUnderWayACallHasHope() {
    bench.silent.add("a:1");
    bench.make("a:1");
    assertNull(bench.endpoints().pick(bench.call()));
    assertTrue(bench.endpoints().hopeful());
  }

  @Test
  void aCallThatFailsFastDoesNotWaitForOneRetryAfterTheOther() {
    bench.down.add("a:1");
    bench.make("a:1,b:1");
    assertEquals("b:1", bench.reach().remote);
    bench.down.add("b:1");
    bench.links.get(0).breaks();
    bench.silent.addAll(List.of("a:1", "b:1"));
    bench.clockwork.advance(Duration.ofSeconds(1)); // retries are under way
    Bench.Call call = bench.call();
    assertNull(bench.endpoints().pick(call));
    assertTrue(bench.endpoints().hopeful(call));
    List.copyOf(bench.attempts).forEach(one -> one.completeExceptionally(new IOException("down")));
    int before = bench.attempts.size();
    bench.clockwork.advance(Duration.ofSeconds(2)); // the next are
    assertTrue(bench.attempts.size() > before);
    assertTrue(bench.endpoints().hopeful());
    assertFalse(bench.endpoints().hopeful(call));
  }

  @Test
  void anOpenerThatThrowsIsAFailedAttempt() {
    Endpoints endpoints =
        new Endpoints(
            bench.clockwork,
            Target.parse("a:1", Map.of()),
            Balancer.roundRobin(),
            (connector, what) -> {
              throw new IllegalStateException("no loop");
            },
            bench,
            new Endpoints.Settings(1, 20, Duration.ZERO));
    assertNull(endpoints.pick(bench.call()));
    assertEquals("cannot reach no loop", endpoints.whyNone());
  }

  @Test
  void aConnectionThatEndsSoonCountsAsAFailure() {
    bench.make("a:1");
    bench.calls();
    bench.links.get(0).breaks();
    assertEquals(List.of(State.FAILING), bench.states());
    assertEquals(1, bench.endpoint(0).failures());
    assertEquals("the connection to a:1 ended: connection reset", bench.endpoints().whyNone());
    bench.clockwork.advance(Duration.ofMillis(110));
    assertEquals(List.of(State.READY), bench.states());
  }

  @Test
  void aConnectionThatHasLastedCountsAsNoFailureAndIsReplacedSoon() {
    bench.make("a:1");
    bench.calls();
    bench.clockwork.advance(LONG);
    bench.links.get(0).breaks();
    assertEquals(List.of(State.CONNECTING), bench.states());
    assertTrue(bench.endpoints().hopeful());
    assertEquals(List.of(), bench.failed);
    bench.clockwork.advance(Duration.ofMillis(110));
    assertEquals(2, bench.links.size());
    assertEquals(List.of(State.READY), bench.states());
  }

  @Test
  void connectionsThatAreLostAgainAndAgainAreFailuresInARow() {
    bench.make("a:1");
    bench.calls();
    for (int n = 1; n <= 4; n++) {
      bench.links.get(n - 1).breaks();
      assertEquals(n, bench.endpoint(0).failures());
      int wanted = n;
      assertTrue(
          bench.clockwork.advanceUntil(() -> bench.links.size() > wanted, Duration.ofSeconds(10)));
    }
  }

  @Test
  void aServerThatDrainsIsLeftAtOnceAndIsNotAtFault() {
    bench.make("a:1");
    bench.calls();
    FakeLink first = bench.links.get(0);
    first.isDrained();
    assertEquals(List.of(State.CONNECTING), bench.states());
    settle();
    FakeLink second = bench.reach();
    assertNotSame(first, second);
    assertEquals(List.of(first, second), bench.endpoints().live());
    first.breaks();
    assertEquals(List.of(second), bench.endpoints().live());
    assertEquals(List.of(State.READY), bench.states());
    assertEquals(List.of(), bench.failed);
  }

  @Test
  void aServerThatTurnsTheClientAwayIsAtFault() {
    bench.make("a:1");
    bench.calls();
    bench.clockwork.advance(LONG);
    bench.links.get(0).isTurnedAway();
    assertEquals(List.of(State.FAILING), bench.states());
    assertEquals("cannot reach a:1: not served", bench.endpoints().whyNone());
    bench.links.get(0).breaks();
    assertEquals(1, bench.failed.size(), "it was counted before");
  }

  @Test
  void aConnectionThatIsEndedWhileItIsOpenedSaysWhy() {
    bench.silent.add("a:1");
    bench.make("a:1,b:1");
    assertNull(bench.endpoints().pick(bench.call()));
    Connector connector = bench.endpoint(0).connectors.get(0);
    FakeLink link = new FakeLink(connector, "a:1", bench.clockwork.nanos());
    connector.connected(link);
    link.isTurnedAway();
    link.breaks();
    bench.attempts.get(0).complete(link);
    assertEquals(List.of("a:1: cannot reach a:1: not served"), bench.failed);
    assertEquals(List.of(), connector.live());
  }

  @Test
  void atMost64ConnectionsToAnEndpointAreOpenedAtATime() {
    bench.connections = 100;
    bench.silent.add("a:1");
    bench.make("a:1");
    assertNull(bench.endpoints().pick(bench.call()));
    assertEquals(64, bench.dialled.size());
    bench.attempts.get(0).completeExceptionally(new IOException("refused"));
    assertEquals(65, bench.dialled.size());
    bench.endpoints().apply(set("b:1"));
    bench.attempts.subList(1, 65).forEach(one -> assertTrue(one.isCancelled()));
    assertEquals(65 + 64, bench.dialled.size(), "of those that waited for their turn none began");
  }

  @Test
  void endpointsThatLeftAreDrained() {
    bench.make("a:1,b:1");
    bench.calls();
    FakeLink a = bench.links.get(0);
    a.open = 1;
    bench.endpoints().apply(set("b:1"));
    assertTrue(a.draining);
    assertFalse(bench.links.get(1).draining);
    assertTrue(bench.endpoints().live().contains(a), "a call runs there");
    settle();
    assertEquals("a:1", bench.triedAgain.get(0).endpoint().identity());
    a.breaks();
    assertFalse(bench.endpoints().live().contains(a));
    bench.clockwork.advance(LONG);
    assertEquals(2, bench.dialled.size());
  }

  @Test
  void anAttemptAtAnEndpointThatLeftIsGivenUp() {
    bench.silent.add("a:1");
    bench.make("a:1");
    assertNull(bench.endpoints().pick(bench.call()));
    bench.endpoints().apply(set("b:1"));
    assertTrue(bench.attempts.get(0).isCancelled());
    settle();
    assertEquals("b:1", bench.reach().remote);
  }

  @Test
  void connectionsStayWhereTheDescriptionChanges() {
    bench.make("a:1,b:1");
    bench.calls();
    ClientEndpoint a = bench.endpoint(0);
    Endpoint heavier = Endpoint.builder("a:1").weight(3).build();
    bench.endpoints().apply(Resolved.check(List.of(Endpoint.of("b:1"), heavier)));
    assertSame(a, bench.endpoint(1));
    assertEquals(3, a.endpoint().weight());
    assertEquals(2, bench.dialled.size());
  }

  @Test
  void severalConnectionsShareTheCalls() {
    bench.connections = 2;
    bench.make("a:1");
    bench.calls();
    for (int i = 0; i < 1_000; i++) {
      bench.reach();
    }
    for (FakeLink link : bench.links) {
      assertTrue(link.calls > 300, "calls " + link.calls);
    }
    bench.links.get(0).open = 10;
    bench.links.forEach(link -> link.calls = 0);
    for (int i = 0; i < 1_000; i++) {
      bench.reach();
    }
    assertTrue(bench.links.get(1).calls > 900, "calls go to the less loaded one");
  }

  @Test
  void whatHasNoCallsForTheIdleTimeoutIsClosed() {
    bench.idle = Duration.ofSeconds(4);
    bench.make("a:1,b:1");
    bench.calls();
    bench.links.get(1).open = 1;
    bench.clockwork.advance(LONG);
    assertEquals(List.of(State.READY, State.READY), bench.states(), "one is used");
    bench.links.get(1).open = 0;
    bench.clockwork.advance(Duration.ofMillis(3_900));
    assertEquals(List.of(State.READY, State.READY), bench.states());
    bench.clockwork.advance(Duration.ofMillis(1_200));
    assertEquals(List.of(State.IDLE, State.IDLE), bench.states());
    bench.links.forEach(link -> assertTrue(link.draining));
    bench.calls();
    assertEquals(List.of(State.READY, State.READY), bench.states());
  }

  @Test
  void aClosedClientOpensNothing() {
    bench.silent.add("b:1");
    bench.down.add("c:1");
    bench.make("a:1,b:1,c:1");
    bench.calls();
    bench.endpoints().stop();
    assertTrue(bench.attempts.get(1).isCancelled());
    bench.links.get(0).breaks();
    int before = bench.dialled.size();
    bench.clockwork.advance(LONG);
    assertEquals(before, bench.dialled.size());
    assertEquals(List.of(), bench.endpoints().live());
  }

  @Test
  void whoWaitsIsToldAfterwards() {
    bench.make("a:1");
    assertNull(bench.endpoints().pick(bench.call()));
    assertEquals(0, bench.changes, "within the call");
    bench.clockwork.settle();
    assertEquals(1, bench.changes);
    bench.clockwork.advance(Bench.DIALLING);
    assertEquals(2, bench.changes);
    assertEquals("a:1", bench.reach().remote);
  }

  @Test
  void connectingBeforehandIsDoneWhenAllHaveGreetedOrFailed() {
    bench.down.add("b:1");
    bench.make("a:1,b:1");
    assertFalse(bench.endpoints().connected());
    settle();
    assertTrue(bench.endpoints().connected());
    bench.links.get(0).greeted = false;
    assertFalse(bench.endpoints().connected());
  }

  @Test
  void connectingBeforehandFailsIfNoEndpointWasReached() {
    bench.down.addAll(List.of("a:1", "b:1"));
    bench.make("a:1,b:1");
    assertFalse(bench.endpoints().connected());
    settle();
    StatusException fault =
        assertThrows(StatusException.class, () -> bench.endpoints().connected());
    assertEquals(Code.UNAVAILABLE, fault.code());
    assertEquals(Delivery.NOT_SENT, fault.status().delivery());
    assertTrue(fault.status().local());
    assertTrue(fault.status().message().contains("b:1: cannot reach b:1: refused"));
  }

  @Test
  void connectingBeforehandFailsIfAConnectionOfASingleEndpointFailed() {
    bench.connections = 2;
    bench.silent.add("a:1");
    bench.make("a:1");
    assertFalse(bench.endpoints().connected());
    Connector connector = bench.endpoint(0).connectors.get(0);
    bench.attempts.get(0).complete(new FakeLink(connector, "a:1", bench.clockwork.nanos()));
    assertFalse(bench.endpoints().connected());
    bench.attempts.get(1).completeExceptionally(new IOException("refused"));
    StatusException fault =
        assertThrows(StatusException.class, () -> bench.endpoints().connected());
    assertEquals("cannot reach refused", fault.status().message());
  }

  @Test
  void connectingBeforehandConnectsALazyBalancersFirst() {
    bench.balancer = Balancer.first();
    bench.down.add("a:1");
    bench.make("a:1,b:1");
    CompletableFuture<Void> done = new CompletableFuture<>();
    for (int i = 0; i < 10 && !done.isDone(); i++) {
      if (bench.endpoints().connected()) {
        done.complete(null);
      }
      bench.clockwork.advance(Bench.DIALLING);
    }
    assertTrue(done.isDone());
    assertEquals(List.of(State.FAILING, State.READY), bench.states());
  }

  @Test
  void gaugesTellHowAnEndpointStands() {
    bench.down.add("b:1");
    bench.make("a:1,b:1");
    bench.calls();
    bench.links.get(0).open = 2;
    var a = bench.endpoints().gauges(Map.of()).get(0);
    var b = bench.endpoints().gauges(Map.of()).get(1);
    assertEquals(State.READY, a.state());
    assertEquals(2, a.calls());
    assertEquals(1, a.connections().size());
    assertNull(a.nextAttempt());
    assertEquals(State.FAILING, b.state());
    assertEquals("cannot reach b:1: refused", b.error());
    assertTrue(b.failures() > 0);
    assertTrue(b.nextAttempt() != null && !b.nextAttempt().isNegative());
  }
}
