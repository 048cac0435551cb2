package io.trunkcall.internal.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.trunkcall.Balancer;
import io.trunkcall.Code;
import io.trunkcall.Delivery;
import io.trunkcall.Endpoint;
import io.trunkcall.EndpointState;
import io.trunkcall.Outcome;
import io.trunkcall.Pick;
import io.trunkcall.PickObserver;
import io.trunkcall.Picker;
import io.trunkcall.State;
import io.trunkcall.Status;
import io.trunkcall.StatusException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Where calls go, and balancers and pickers that do what they must not (client.md 10). */
final class ChoosingTest {
  private final Bench bench = new Bench();

  /** A balancer of the test's own. */
  private final class Own implements Balancer {
    Picker picker = call -> null;
    RuntimeException fault;
    List<EndpointState> given = List.of();

    @Override
    public Picker balance(List<EndpointState> endpoints) {
      given = endpoints;
      if (fault != null) {
        throw fault;
      }
      return picker;
    }

    @Override
    public String name() {
      return "own";
    }
  }

  private Own own(String target) {
    Own own = new Own();
    bench.balancer = own;
    bench.make(target);
    return own;
  }

  private void refuses(String text) {
    StatusException fault =
        assertThrows(StatusException.class, () -> bench.endpoints().pick(bench.call()));
    Status status = fault.status();
    assertEquals(Code.INTERNAL, status.code());
    assertEquals(Delivery.NOT_SENT, status.delivery());
    assertTrue(status.local());
    assertEquals("balancer own: " + text, status.message());
    assertTrue(bench.logged.contains("ERROR balancer own: " + text), bench.logged.toString());
  }

  private void apply(String... addresses) {
    bench.endpoints().apply(Resolved.check(Stream.of(addresses).map(Endpoint::of).toList()));
  }

  @Test
  void aPickerThatThrowsEndsTheCall() {
    Own own = own("a:1,b:1");
    own.picker =
        call -> {
          throw new IllegalStateException("oh");
        };
    refuses("the picker failed: IllegalStateException: oh");
  }

  @Test
  void aPickerThatChoosesWhatItWasNotGivenEndsTheCall() {
    Own own = own("a:1,b:1");
    PicksTest.Given stranger = new PicksTest.Given(Endpoint.of("c:1"), State.READY);
    own.picker = call -> stranger;
    refuses("the picker chose " + stranger + ", which it was not given");
  }

  @Test
  void aPickerThatChoosesOneThatHasLeftEndsTheCall() {
    Own own = own("a:1,b:1");
    bench.calls();
    EndpointState a = own.given.get(0);
    own.picker = call -> a;
    apply("b:1", "c:1");
    refuses("the picker chose a:1, which has left");
  }

  @Test
  void aBalancerThatThrowsBeforeThereIsAPickerEndsCalls() {
    Own own = own("a:1,b:1");
    own.fault = new IllegalStateException("oh");
    refuses("it failed: IllegalStateException: oh");
    own.fault = null;
    own.picker = call -> own.given.get(1);
    bench.clockwork.advance(Bench.DIALLING);
    assertEquals("b:1", bench.reach().remote, "with the next change there is a picker");
  }

  @Test
  void aBalancerThatMakesNoPickerIsAtFault() {
    Own own = own("a:1,b:1");
    own.picker = null;
    refuses("it failed: NullPointerException: it has made no picker");
  }

  @Test
  void theLastPickerStaysWhenABalancerThrows() {
    Own own = own("a:1,b:1");
    bench.calls();
    List<EndpointState> before = own.given;
    int[] turn = {0};
    own.picker = call -> before.get(turn[0]++ % 2);
    apply("a:1", "b:1");
    assertNotNull(bench.reach());
    own.fault = new IllegalStateException("oh");
    apply("b:1", "c:1");
    for (int i = 0; i < 4; i++) {
      assertEquals("b:1", bench.reach().remote, "it is asked again instead of a");
    }
  }

  @Test
  void aPickerThatChoosesNoneLeavesTheCallWithoutHope() {
    Own own = own("a:1,b:1");
    bench.calls();
    assertNull(bench.endpoints().pick(bench.call()));
    assertEquals("balancer own: the picker chose no endpoint", bench.endpoints().whyNone());
    assertEquals(2, own.given.size());
  }

  @Test
  void balancersLearnOfEachState() {
    Own own = own("a:1,b:1");
    bench.down.add("b:1");
    bench.calls();
    List<State> seen = own.given.stream().map(EndpointState::state).toList();
    assertEquals(List.of(State.READY, State.FAILING), seen);
  }

  @Test
  void noPickerIsAskedForASingleEndpointThatIsReady() {
    Own own = own("a:1");
    own.picker =
        call -> {
          assertEquals(State.CONNECTING, own.given.get(0).state());
          return own.given.get(0);
        };
    bench.calls();
    assertEquals("a:1", bench.reach().remote);
  }

  @Test
  void aSecondAttemptAvoidsTheEndpointOfTheFirst() {
    bench.make("a:1,b:1");
    bench.calls();
    for (int i = 0; i < 10; i++) {
      Bench.Call call = bench.call();
      call.avoid(bench.endpoint(0));
      assertEquals("b:1", ((FakeLink) bench.endpoints().pick(call)).remote);
    }
  }

  /** A picker that wants to know. */
  private final class Curious implements PickObserver {
    final List<String> told = new ArrayList<>();
    RuntimeException fault;
    int choice;

    @Override
    public EndpointState pick(Pick call) {
      return bench.endpoint(choice);
    }

    @Override
    public void ended(EndpointState endpoint, Outcome outcome) {
      told.add(
          endpoint.endpoint()
              + " "
              + outcome.status().code()
              + " "
              + outcome.duration().toMillis());
      if (fault != null) {
        throw fault;
      }
    }
  }

  @Test
  void pickersAreToldOnceHowCallsEnd() {
    Curious curious = new Curious();
    own("a:1,b:1").picker = curious;
    bench.calls();
    curious.told.clear();
    Bench.Call call = bench.call();
    assertNotNull(bench.endpoints().pick(call));
    bench.clockwork.advance(Duration.ofMillis(500)); // for a slot
    call.given();
    bench.clockwork.advance(Duration.ofMillis(30));
    call.ended(Bench.failed(Code.NOT_FOUND));
    call.ended(Status.OK);
    assertEquals(List.of("a:1 NOT_FOUND 30"), curious.told);
  }

  @Test
  void pickersAreToldOfCallsThatDidNotGoThere() {
    Curious curious = new Curious();
    own("a:1").picker = curious;
    assertNull(bench.endpoints().pick(bench.call()));
    assertEquals(List.of("a:1 UNAVAILABLE 0"), curious.told);
    bench.calls();
    curious.told.clear();
    Bench.Call call = bench.call();
    assertNotNull(bench.endpoints().pick(call));
    call.unpick();
    assertEquals(List.of("a:1 UNAVAILABLE 0"), curious.told);
  }

  @Test
  void aPickerThatThrowsWhenItIsToldHarmsNobody() {
    Curious curious = new Curious();
    curious.fault = new IllegalStateException("oh");
    own("a:1").picker = curious;
    bench.calls();
    Bench.Call call = bench.call();
    assertNotNull(bench.endpoints().pick(call));
    call.ended(Status.OK);
    assertTrue(bench.logged.get(bench.logged.size() - 1).startsWith("ERROR a picker failed"));
  }

  @Test
  void callsMakeTheLatencyOfTheirEndpoint() {
    bench.make("a:1,b:1");
    bench.calls();
    bench.clockwork.advance(Duration.ofSeconds(11));
    assertEquals(-1, bench.endpoint(0).latencyNanos());
    Bench.Call call = bench.call();
    FakeLink link = (FakeLink) bench.endpoints().pick(call);
    assertNotNull(link);
    bench.clockwork.advance(Duration.ofMillis(30));
    call.ended(Status.OK);
    ClientEndpoint called = link.connector.endpoint();
    assertEquals(Duration.ofMillis(30).toNanos(), called.latencyNanos());
    assertSame(called, bench.endpoint(link.remote.equals("a:1") ? 0 : 1));
  }
}
