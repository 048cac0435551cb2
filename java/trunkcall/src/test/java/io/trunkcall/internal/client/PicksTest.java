package io.trunkcall.internal.client;

import static io.trunkcall.internal.client.ClientVectors.word;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.trunkcall.Balancer;
import io.trunkcall.Endpoint;
import io.trunkcall.EndpointState;
import io.trunkcall.Metadata;
import io.trunkcall.Pick;
import io.trunkcall.Picker;
import io.trunkcall.State;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** The picks of spec/vectors/client.json (client.md 10.2 to 10.8). */
final class PicksTest {
  static Balancer balancer(String name, LongSupplier draw, Supplier<String> key) {
    return switch (name) {
      case "first" -> Balancer.first();
      case "round_robin" -> Balancers.roundRobin(draw);
      case "least_loaded" -> Balancers.leastLoaded(draw);
      case "hash" -> Balancers.hash(call -> key.get(), draw);
      default -> throw new AssertionError(name);
    };
  }

  /** An endpoint that is what the test says. */
  static final class Given implements EndpointState {
    final Endpoint endpoint;
    State state;
    int calls;
    long latency = -1;

    Given(Endpoint endpoint, State state) {
      this.endpoint = endpoint;
      this.state = state;
    }

    @Override
    public Endpoint endpoint() {
      return endpoint;
    }

    @Override
    public State state() {
      return state;
    }

    @Override
    public int calls() {
      return calls;
    }

    @Override
    public long latencyNanos() {
      return latency;
    }

    @Override
    public int failures() {
      return 0;
    }
  }

  private static State state(JsonNode word) {
    return State.valueOf(word.asText().toUpperCase(Locale.ROOT));
  }

  @TestFactory
  Stream<DynamicTest> picks() {
    return ClientVectors.each("picks", PicksTest::replay);
  }

  private static void replay(JsonNode each) {
    Deque<Long> draws = new ArrayDeque<>();
    if (each.has("counter")) {
      draws.add(word(each.get("counter")));
      draws.add(word(each.get("counter")));
    }
    String[] key = {""};
    Balancer balancer = balancer(each.get("balancer").asText(), draws::remove, () -> key[0]);
    Map<String, EndpointState> known = new LinkedHashMap<>();
    for (JsonNode one : each.get("endpoints")) {
      Endpoint endpoint =
          Endpoint.builder(one.get("identity").asText()).weight(one.get("weight").asInt()).build();
      Given given = new Given(endpoint, state(one.get("state")));
      given.calls = one.get("calls").asInt();
      given.latency = one.get("latency").isNull() ? -1 : one.get("latency").asLong();
      known.put(endpoint.identity(), given);
    }
    List<EndpointState> set = List.copyOf(known.values());
    Picker picker = balancer.balance(set);
    for (JsonNode step : each.get("steps")) {
      boolean anew = step.has("change") && change(known, step.get("change"));
      picker = anew ? balancer.balance(set) : picker;
      ClientVectors.stream(step.get("random")).forEach(one -> draws.add(word(one)));
      key[0] = step.has("key") ? step.get("key").asText() : "";
      EndpointState avoid = step.has("avoid") ? known.get(step.get("avoid").asText()) : null;
      EndpointState found = picker.pick(new Pick(Bench.METHOD, Metadata.EMPTY, avoid));
      String wanted = step.get("pick").isNull() ? null : step.get("pick").asText();
      assertEquals(wanted, found == null ? null : found.endpoint().identity(), step.toString());
      assertTrue(draws.isEmpty(), "fewer were drawn");
    }
  }

  /** Whether a state has changed. */
  private static boolean change(Map<String, EndpointState> known, JsonNode changes) {
    boolean[] anew = {false};
    changes
        .properties()
        .forEach(
            change -> {
              Given one = (Given) known.get(change.getKey());
              JsonNode what = change.getValue();
              one.calls = what.has("calls") ? what.get("calls").asInt() : one.calls;
              one.latency = what.has("latency") ? what.get("latency").asLong() : one.latency;
              if (what.has("state")) {
                one.state = state(what.get("state"));
                anew[0] = true;
              }
            });
    return anew[0];
  }

  @Test
  void hashTakesTheFirstValueOfAnEntry() {
    Balancer balancer = Balancer.hash("user");
    List<EndpointState> set =
        Stream.of("a:1", "b:1", "c:1", "d:1")
            .<EndpointState>map(one -> new Given(Endpoint.of(one), State.READY))
            .toList();
    Picker picker = balancer.balance(set);
    Metadata metadata = Metadata.builder().add("user", "x").add("user", "y").build();
    EndpointState found = picker.pick(new Pick(Bench.METHOD, metadata, null));
    EndpointState same =
        Balancers.hash(call -> "x", () -> 0)
            .balance(set)
            .pick(new Pick(Bench.METHOD, Metadata.EMPTY, null));
    assertNotNull(found);
    assertEquals(same, found);
  }

  @Test
  void ofTwoBalancersOneIsToldApartByItsName() {
    assertEquals(
        List.of("first", "round_robin", "least_loaded", "hash"),
        Stream.of(
                Balancer.first(),
                Balancer.roundRobin(),
                Balancer.leastLoaded(),
                Balancer.hash("user"))
            .map(Balancer::name)
            .toList());
  }
}
