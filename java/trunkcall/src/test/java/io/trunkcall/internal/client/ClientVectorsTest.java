package io.trunkcall.internal.client;

import static io.trunkcall.internal.client.ClientVectors.texts;
import static io.trunkcall.internal.client.ClientVectors.word;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.trunkcall.Code;
import io.trunkcall.Delivery;
import io.trunkcall.Endpoint;
import io.trunkcall.Kind;
import io.trunkcall.Policy;
import io.trunkcall.Resolver;
import io.trunkcall.State;
import io.trunkcall.Status;
import io.trunkcall.internal.transport.Address;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** spec/vectors/client.json but for races and picks, replayed as spec/vectors/README.md says. */
final class ClientVectorsTest {
  private static Endpoint endpoint(JsonNode described) {
    Endpoint.Builder made =
        Endpoint.builder(texts(described.get("addresses")).toArray(String[]::new));
    if (described.has("id")) {
      made.id(described.get("id").asText());
    }
    if (described.has("server_name")) {
      made.serverName(described.get("server_name").asText());
    }
    if (described.has("weight")) {
      made.weight(described.get("weight").asInt());
    }
    if (described.has("zone")) {
      made.zone(described.get("zone").asText());
    }
    Map<String, String> attributes = new HashMap<>();
    if (described.has("attributes")) {
      described
          .get("attributes")
          .properties()
          .forEach(one -> attributes.put(one.getKey(), one.getValue().asText()));
    }
    return made.attributes(attributes).build();
  }

  private static List<Endpoint> endpoints(JsonNode described) {
    return ClientVectors.stream(described).map(ClientVectorsTest::endpoint).toList();
  }

  private static List<String> identities(List<ClientEndpoint> endpoints) {
    return endpoints.stream().map(one -> one.endpoint().identity()).toList();
  }

  private static Target target(JsonNode each) {
    Map<String, Resolver> resolvers = new HashMap<>();
    texts(each.get("schemes")).forEach(scheme -> resolvers.put(scheme, Bench.NONE));
    return Target.parse(each.get("target").asText(), resolvers);
  }

  @TestFactory
  Stream<DynamicTest> targetsAreUnderstood() {
    return ClientVectors.each("targets", ClientVectorsTest::understood);
  }

  private static void understood(JsonNode each) {
    Target target = target(each);
    assertEquals(
        each.get("scheme").asText(), target.scheme().isEmpty() ? "static" : target.scheme());
    assertEquals(each.get("rest").asText(), target.rest());
    assertEquals(each.get("scheme").asText().equals("static"), target.resolver() == null);
    Map<String, JsonNode> wanted = new LinkedHashMap<>();
    ClientVectors.stream(each.get("endpoints"))
        .forEach(one -> wanted.put(one.get("address").asText(), one));
    assertEquals(
        List.copyOf(wanted.keySet()),
        target.known().stream().map(one -> one.endpoint().identity()).toList());
    int at = 0;
    for (JsonNode one : wanted.values()) {
      Address address = target.known().get(at++).addresses().get(0);
      assertEquals(one.get("network").asText() + " " + one.get("place").asText(), placed(address));
      assertEquals(one.get("server_name").asText(), address.serverName());
    }
    if (each.has("host")) {
      Address place = Dns.place(target.rest());
      assertEquals(each.get("host").asText(), place.host());
      assertEquals(each.get("port").asInt(), place.port());
    }
  }

  private static String placed(Address address) {
    if (!address.isTcp()) {
      return address.path().isEmpty() ? "mem " + address.name() : "unix " + address.path();
    }
    if (address.url().isEmpty()) {
      return "tcp " + address.bytes();
    }
    String scheme = address.url().substring(0, address.url().indexOf(':'));
    String behind = address.url().substring(scheme.length() + 3);
    return scheme + " " + address.bytes() + behind.substring(behind.indexOf('/'));
  }

  @TestFactory
  Stream<DynamicTest> badTargetsAreRefused() {
    return ClientVectors.each(
        "bad_targets",
        each -> {
          Exception fault = assertThrows(IllegalArgumentException.class, () -> target(each));
          assertTrue(fault.getMessage().contains(each.get("names").asText()), fault.getMessage());
        });
  }

  @TestFactory
  Stream<DynamicTest> endpointsHaveIdentities() {
    return ClientVectors.each(
        "identities",
        each ->
            assertEquals(each.get("identity").asText(), endpoint(each.get("endpoint")).identity()));
  }

  @TestFactory
  Stream<DynamicTest> setsAreApplied() {
    return ClientVectors.each("sets", ClientVectorsTest::applied);
  }

  private static void applied(JsonNode each) {
    Endpoints client = new Bench().make("test:");
    if (!each.get("before").isEmpty()) {
      client.apply(Resolved.check(endpoints(each.get("before"))));
    }
    List<ClientEndpoint> before = client.order();
    Map<ClientEndpoint, Endpoint> described = new HashMap<>();
    before.forEach(one -> described.put(one, one.endpoint()));

    List<Resolved> found = Resolved.check(endpoints(each.get("set")));
    client.apply(found);
    List<ClientEndpoint> after = client.order();

    assertEquals(texts(each.get("order")), identities(after));
    assertEquals(
        texts(each.get("stay")), identities(after.stream().filter(before::contains).toList()));
    assertEquals(
        texts(each.get("new")),
        identities(after.stream().filter(one -> !before.contains(one)).toList()));
    assertEquals(
        texts(each.get("exchanged")),
        identities(
            after.stream()
                .filter(one -> before.contains(one) && !one.endpoint().equals(described.get(one)))
                .toList()));
    assertEquals(
        texts(each.get("drained")).stream().sorted().toList(),
        identities(before.stream().filter(ClientEndpoint::left).toList()).stream()
            .sorted()
            .toList());
    assertEquals(each.get("ignored").asInt(), each.get("set").size() - found.size());
    after.stream()
        .filter(one -> !before.contains(one))
        .forEach(one -> assertEquals(State.IDLE, one.state()));
  }

  @TestFactory
  Stream<DynamicTest> badSetsAreRefused() {
    return ClientVectors.each(
        "bad_sets",
        each ->
            assertThrows(
                IllegalArgumentException.class, () -> Resolved.check(endpoints(each.get("set")))));
  }

  @TestFactory
  Stream<DynamicTest> aPartOfASetIsUsed() {
    return ClientVectors.each(
        "parts",
        each -> {
          Bench bench = new Bench();
          bench.most = each.get("most").asInt();
          List<Resolved> set =
              Resolved.check(texts(each.get("of")).stream().map(Endpoint::of).toList());
          List<Resolved> used = bench.make("test:").part(word(each.get("client")), set);
          assertEquals(
              texts(each.get("chosen")),
              used.stream().map(one -> one.endpoint().identity()).toList());
        });
  }

  @TestFactory
  Stream<DynamicTest> hashes() {
    return ClientVectors.each(
        "hashes",
        each -> assertEquals(word(each.get("hash")), Rendezvous.hashed(each.get("text").asText())));
  }

  @TestFactory
  Stream<DynamicTest> scores() {
    return ClientVectors.each(
        "scores",
        each ->
            assertEquals(
                word(each.get("score")),
                Rendezvous.score(
                    word(each.get("a")), Rendezvous.hashed(each.get("text").asText()))));
  }

  @TestFactory
  Stream<DynamicTest> longestPauses() {
    return ClientVectors.each(
        "pauses",
        each ->
            assertEquals(
                each.get("longest").asLong(),
                Backoff.longest(each.get("failures").asInt()).toMillis()));
  }

  @TestFactory
  Stream<DynamicTest> clientsBecomeIdle() {
    return ClientVectors.each("idle", ClientVectorsTest::becomesIdle);
  }

  private static void becomesIdle(JsonNode each) {
    Bench bench = new Bench();
    bench.balancer = PicksTest.balancer(each.get("balancer").asText(), () -> 0, () -> "key");
    bench.idle = Duration.ofSeconds(4);
    List<String> addresses = new ArrayList<>();
    each.get("serves")
        .forEach(
            serves -> {
              String address = "s" + addresses.size() + ":1";
              addresses.add(address);
              if (!serves.asBoolean()) {
                bench.down.add(address);
              }
            });
    bench.make(String.join(",", addresses));
    for (int round = 0; round < 2; round++) {
      bench.calls();
      assertEquals(texts(each.get("before")), spelled(bench.states()));
      bench.clockwork.advance(Duration.ofMinutes(2));
      assertEquals(texts(each.get("after")), spelled(bench.states()));
    }
  }

  private static List<String> spelled(List<State> states) {
    return states.stream().map(one -> one.name().toLowerCase(Locale.ROOT)).toList();
  }

  @TestFactory
  Stream<DynamicTest> latenciesMove() {
    return ClientVectors.each("latencies", ClientVectorsTest::moves);
  }

  private static void moves(JsonNode each) {
    MovingLatency latency = new MovingLatency();
    for (int i = 0; i < each.get("events").size(); i++) {
      JsonNode event = each.get("events").get(i);
      long at = event.get("at").asLong();
      if (event.has("code")) {
        Status status =
            Status.of(Code.valueOf(event.get("code").asText()), "")
                .withDelivery(delivery(event.get("delivery").asText()))
                .withLocal(event.get("local").asBoolean());
        latency.ended(kind(event.get("kind").asText()), status, event.get("duration").asLong(), at);
      }
      JsonNode wanted = each.get("moving").get(i);
      double moving = latency.at(at);
      assertEquals(wanted.isNull(), Double.isNaN(moving));
      if (!wanted.isNull()) {
        assertEquals(wanted.asLong(), (long) moving, 1.0);
      }
    }
  }

  private static Kind kind(String word) {
    return switch (word) {
      case "unary" -> Kind.UNARY;
      case "one_way" -> Kind.ONE_WAY;
      case "server_streaming" -> Kind.SERVER_STREAM;
      default -> Kind.BIDI_STREAM;
    };
  }

  private static Delivery delivery(String word) {
    for (Delivery one : Delivery.values()) {
      if (one.word().equals(word)) {
        return one;
      }
    }
    throw new AssertionError(word);
  }

  private static Policies policies(JsonNode each) {
    List<Policy> given = new ArrayList<>();
    for (JsonNode one : each.get("policies")) {
      given.add(
          new Policy(
              one.get("method").asText(),
              one.has("timeout") ? Duration.ofSeconds(one.get("timeout").asLong()) : null,
              one.has("wait_for_ready") ? one.get("wait_for_ready").asBoolean() : null,
              one.has("repeat") ? one.get("repeat").asBoolean() : null));
    }
    return Policies.of(given, null);
  }

  @TestFactory
  Stream<DynamicTest> policiesHold() {
    return ClientVectors.each("policies", ClientVectorsTest::hold);
  }

  private static void hold(JsonNode each) {
    Policies policies = policies(each);
    for (JsonNode call : each.get("calls")) {
      String method = call.get("method").asText();
      boolean streaming = call.get("streaming").asBoolean();
      Policies.Holding holding = streaming ? policies.ofStream(method) : policies.of(method);
      Map<String, String> said = new HashMap<>();
      if (holding.timeout() != null) {
        said.put("timeout", String.valueOf(holding.timeout().toSeconds()));
      }
      if (holding.waitForReady() != null) {
        said.put("wait_for_ready", holding.waitForReady().toString());
      }
      if (holding.repeat() != null) {
        said.put("repeat", holding.repeat().toString());
      }
      Map<String, String> wanted = new HashMap<>();
      call.get("holds")
          .properties()
          .forEach(one -> wanted.put(one.getKey(), one.getValue().asText()));
      assertEquals(wanted, said);
    }
  }

  @TestFactory
  Stream<DynamicTest> badPoliciesAreRefused() {
    return ClientVectors.each(
        "bad_policies", each -> assertThrows(IllegalArgumentException.class, () -> policies(each)));
  }
}
