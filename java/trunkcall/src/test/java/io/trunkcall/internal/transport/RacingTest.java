package io.trunkcall.internal.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import io.trunkcall.internal.client.ClientVectors;
import java.io.IOException;
import java.net.ConnectException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** The races of spec/vectors/client.json (client.md 9.4), and what goes wrong with one. */
final class RacingTest {
  private final VirtualClockwork clockwork = new VirtualClockwork();

  /** Tries that end as the test says. */
  private final class Tries implements Racing.Attempts<String> {
    final Map<String, Deque<JsonNode>> scripts = new HashMap<>();
    final List<String> began = new ArrayList<>();
    final List<CompletableFuture<String>> open = new ArrayList<>();

    @Override
    public CompletableFuture<String> connect(Racing.Place place) {
      String address = place.address().toString();
      began.add(address + " at " + clockwork.millis());
      CompletableFuture<String> result = new CompletableFuture<>();
      open.add(result);
      Deque<JsonNode> script = scripts.get(address);
      JsonNode what = script == null ? null : script.remove();
      String how = what == null ? "fails" : what.get("how").asText();
      if (!how.equals("hangs")) {
        Duration after = Duration.ofMillis(what == null ? 0 : what.get("after").asLong());
        clockwork.after(after, () -> end(result, address, how));
      }
      return result;
    }

    private void end(CompletableFuture<String> result, String address, String how) {
      switch (how) {
        case "greets" -> result.complete(address);
        case "refuses" -> result.completeExceptionally(new ConnectException("refused"));
        default -> result.completeExceptionally(new IOException("failed"));
      }
    }

    @Override
    public boolean restarts(Throwable fault) {
      return fault instanceof ConnectException;
    }

    @Override
    public String describe(Throwable fault) {
      return fault.getMessage();
    }
  }

  private static List<Address> addresses(Stream<String> texts) {
    return texts.map(Address::parse).toList();
  }

  private static Racing.Lookup answering(JsonNode answers) {
    return host ->
        CompletableFuture.completedFuture(
            answers.has(host) ? ClientVectors.texts(answers.get(host)) : List.of(host));
  }

  @TestFactory
  Stream<DynamicTest> addressesAreTriedInTheirOrder() {
    return ClientVectors.each("races", each -> new RacingTest().order(each));
  }

  private void order(JsonNode each) {
    Tries tries = new Tries();
    List<Address> addresses = addresses(ClientVectors.texts(each.get("addresses")).stream());
    CompletableFuture<String> result =
        Racing.run(clockwork, addresses, answering(each.get("answers")), tries, false);
    assertTrue(clockwork.advanceUntil(result::isDone, Duration.ofMinutes(1)));
    List<String> order = tries.began.stream().map(one -> one.replaceFirst(" at .*", "")).toList();
    assertEquals(ClientVectors.texts(each.get("order")), order);
  }

  @TestFactory
  Stream<DynamicTest> whoWins() {
    return ClientVectors.each("runs", each -> new RacingTest().run(each));
  }

  private void run(JsonNode each) {
    Tries tries = new Tries();
    for (JsonNode one : each.get("tries")) {
      Deque<JsonNode> script = new ArrayDeque<>();
      one.get("attempts").forEach(script::add);
      tries.scripts.put(one.get("address").asText(), script);
    }
    Stream<String> texts =
        ClientVectors.stream(each.get("tries")).map(one -> one.get("address").asText());
    CompletableFuture<String> result = Racing.run(clockwork, addresses(texts), null, tries, false);
    assertTrue(clockwork.advanceUntil(result::isDone, Duration.ofMinutes(1)));
    List<String> wanted =
        ClientVectors.stream(each.get("began"))
            .map(one -> one.get("address").asText() + " at " + one.get("at").asText())
            .toList();
    assertEquals(wanted, tries.began);
    assertEquals(each.get("at").asLong(), clockwork.millis());
    if (each.get("wins").isNull()) {
      assertThrows(ExecutionException.class, result::get);
    } else {
      assertEquals(each.get("wins").asText(), result.join());
    }
    tries.open.forEach(one -> assertTrue(one.isDone(), "a try goes on"));
  }

  @Test
  void faultsNameEachAddress() {
    Tries tries = new Tries();
    CompletableFuture<String> result =
        Racing.run(clockwork, addresses(Stream.of("a:1", "b:1")), null, tries, false);
    clockwork.settle();
    ExecutionException fault = assertThrows(ExecutionException.class, result::get);
    assertInstanceOf(DialException.class, fault.getCause());
    assertEquals("a:1: failed; b:1: failed", fault.getCause().getMessage());
  }

  @Test
  void aNameWithSeveralAddressesIsToldWithThem() {
    Tries tries = new Tries();
    Racing.Lookup lookup = host -> CompletableFuture.completedFuture(List.of("10.0.0.1", "::1"));
    CompletableFuture<String> result =
        Racing.run(clockwork, addresses(Stream.of("a:1")), lookup, tries, true);
    clockwork.settle();
    ExecutionException fault = assertThrows(ExecutionException.class, result::get);
    assertEquals("a:1 (10.0.0.1): failed; a:1 (::1): failed", fault.getCause().getMessage());
  }

  @Test
  void aNameThatIsNotFoundIsTold() {
    Racing.Lookup lookup = host -> CompletableFuture.failedFuture(new IOException("no such host"));
    CompletableFuture<String> result =
        Racing.run(clockwork, addresses(Stream.of("a:1")), lookup, new Tries(), true);
    clockwork.settle();
    ExecutionException fault = assertThrows(ExecutionException.class, result::get);
    assertEquals("a:1: no such host", fault.getCause().getMessage());
  }

  @Test
  void allOfItHasTenSeconds() {
    Tries tries = new Tries();
    CompletableFuture<String> result =
        Racing.run(
            clockwork,
            addresses(Stream.of("a:1")),
            host -> new CompletableFuture<>(), // never answers
            tries,
            true);
    clockwork.advance(Duration.ofMillis(9_999));
    assertFalse(result.isDone());
    clockwork.advance(Duration.ofMillis(1));
    ExecutionException fault = assertThrows(ExecutionException.class, result::get);
    assertEquals("a:1: no answer in 10.0 s", fault.getCause().getMessage());
  }

  @Test
  void whoIsCancelledCancelsAllTries() {
    Tries tries = new Tries();
    List.of("a:1", "b:1").forEach(one -> tries.scripts.put(one, hanging()));
    CompletableFuture<String> result =
        Racing.run(clockwork, addresses(Stream.of("a:1", "b:1")), null, tries, false);
    clockwork.advance(Duration.ofMillis(300));
    assertEquals(2, tries.open.size());
    result.cancel(false);
    tries.open.forEach(one -> assertTrue(one.isCancelled()));
  }

  private static Deque<JsonNode> hanging() {
    JsonNode script = JsonNodeFactory.instance.objectNode().put("how", "hangs");
    return new ArrayDeque<>(List.of(script));
  }
}
