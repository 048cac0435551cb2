package io.trunkcall.consul;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.trunkcall.Balancer;
import io.trunkcall.CallOptions;
import io.trunkcall.Client;
import io.trunkcall.Codec;
import io.trunkcall.EndpointState;
import io.trunkcall.Method;
import io.trunkcall.Picker;
import io.trunkcall.registry.Registry;
import io.trunkcall.registry.ServiceRecord;
import io.trunkcall.registry.Source;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a watcher asks of an agent, and makes of its answers (registry.md 10.5). */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class KeyLookingTest {
  private static final String FORM = "Consul's answer is not what it documents";
  private static final String NAMES = "GET kv/r/s/?keys";
  private static final String FIRST = "GET kv/r/s/?keys&consistent";
  private static final String AGAIN = "GET kv/r/s/?keys&index=7&wait=60s";
  private static final String ALL = "GET kv/r/s/?recurse&consistent";

  private PlayedAgent played;

  @BeforeEach
  void begin() throws IOException {
    played = new PlayedAgent().on(AGAIN, 500, "it is over");
  }

  @AfterEach
  void end() {
    played.close();
  }

  private static String record(String id) {
    byte[] data = ServiceRecord.builder("s", id, "10.0.0.1:4000").build().toBytes();
    return new String(data, UTF_8);
  }

  private static String key(String id) {
    return "r/s/" + Listing.nameOf(id, record(id).getBytes(UTF_8));
  }

  private static String names(List<String> keys) {
    return keys.isEmpty() ? "[]" : "[\"" + String.join("\",\"", keys) + "\"]";
  }

  private static String pair(String key, String value) {
    return "{\"LockIndex\":1,\"Key\":\"" + key + "\",\"Flags\":0,\"Value\":" + value + "}";
  }

  private static String pair(String id) {
    String value = Base64.getEncoder().encodeToString(record(id).getBytes(UTF_8));
    return pair(key(id), "\"" + value + "\"");
  }

  private static List<String> many() {
    List<String> ids = new ArrayList<>();
    for (int i = 0; i < 51; i++) {
      ids.add("i" + i);
    }
    return ids;
  }

  /** How a look ends, and with which servers. */
  private final class Look implements Balancer {
    final BlockingQueue<String> failures = new LinkedBlockingQueue<>();
    volatile List<String> ids = List.of();
    Duration within = BlockingQuery.ANSWERED;

    String failure() throws InterruptedException {
      CompletableFuture<Void> over = new CompletableFuture<>();
      Source once =
          (service, watcher) -> {
            try {
              new KeyLooking(played.agent(), "r", service, within).watch(watcher);
            } catch (IOException fault) {
              failures.add(String.valueOf(fault.getMessage()));
            } catch (Throwable fault) {
              failures.add(fault.toString());
            }
            over.join();
          };
      try (Client client =
          Client.builder("registry:s")
              .resolver("registry", Registry.resolver(once))
              .balancer(this)
              .dialer((address, endpoint) -> new CompletableFuture<>()) // reaches nobody
              .build()) {
        Method<byte[], byte[]> never = Method.unary("/s/Never", Codec.raw(), Codec.raw());
        // A call that waits looks at each set.
        client.unary(never, new byte[0], CallOptions.NONE.withWaitForReady(true));
        return failures.take();
      } finally {
        over.complete(null);
      }
    }

    @Override
    public boolean lazy() {
      return true;
    }

    @Override
    public Picker balance(List<EndpointState> endpoints) {
      ids = endpoints.stream().map(one -> one.endpoint().id()).toList();
      return Balancer.first().balance(endpoints);
    }
  }

  private String failure() throws InterruptedException {
    return new Look().failure();
  }

  private List<String> found() throws InterruptedException {
    Look look = new Look();
    assertEquals("Consul answers 500: it is over", look.failure());
    return look.ids;
  }

  private List<String> asked(int many) throws InterruptedException {
    List<String> asked = new ArrayList<>();
    for (int i = 0; i < many; i++) {
      asked.add(played.asked());
    }
    return asked;
  }

  @Test
  void recordsAreAskedForOneByOne() throws Exception {
    played.on(FIRST, 200, names(List.of("r/s/", key("a"), key("b"), "r/s/?\\u0000/ü", "r/q")));
    played.on("GET " + "kv/" + key("a") + "?raw&consistent", 200, record("a")); // and b has gone
    assertEquals(List.of("a"), found());
    assertEquals(
        List.of(
            FIRST,
            "GET kv/" + key("a") + "?raw&consistent",
            "GET kv/" + key("b") + "?raw&consistent",
            AGAIN),
        asked(4));
  }

  @Test
  void ofManyAllAreAskedForAtOnce() throws Exception {
    played.on(FIRST, 200, names(many().stream().map(KeyLookingTest::key).toList()));
    List<String> pairs = new ArrayList<>(many().stream().map(KeyLookingTest::pair).toList());
    pairs.set(7, pair("r/s/other", "null"));
    pairs.add(pair("r", "null"));
    played.on(ALL, 200, "[" + String.join(",", pairs) + "]");
    List<String> want = many().stream().filter(id -> !id.equals("i7")).sorted().toList();
    assertEquals(want, found());
    assertEquals(List.of(FIRST, ALL, AGAIN), asked(3));
  }

  @Test
  void anEmptyValueIsRubbish() throws Exception {
    List<String> pairs = new ArrayList<>(many().stream().map(KeyLookingTest::pair).toList());
    pairs.set(7, pair(key("i7"), "null"));
    played.on(FIRST, 200, names(many().stream().map(KeyLookingTest::key).toList()));
    played.on(ALL, 200, "[" + String.join(",", pairs) + "]");
    assertEquals(50, found().size());
  }

  /** It is an empty list, or what was asked for has gone. */
  @Test
  void thatThereIsNothingIsAnAnswer() throws Exception {
    assertEquals(List.of(), found());
    assertEquals(List.of(FIRST, AGAIN), asked(2));
    played.on(FIRST, 200, names(many().stream().map(KeyLookingTest::key).toList()));
    assertEquals(List.of(), found());
    assertEquals(List.of(FIRST, ALL, AGAIN), asked(3));
  }

  @Test
  void whatIsNoListOfNamesIsAFailure() throws Exception {
    for (String body : List.of("", "{}", "[1]", "[[]]", "[null]", "7", "[] []")) {
      played.on(FIRST, 200, body);
      assertEquals(FORM, failure(), body);
    }
    for (String body : List.of("[", "[\"r/s/", "[\"r/s/a\"", "x", "[\"r/s/a\" \"r/s/b\"]")) {
      played.on(FIRST, 200, body);
      String said = failure();
      assertEquals("Consul's answer: ", said.substring(0, Math.min(17, said.length())), body);
    }
    played.on(FIRST, new PlayedAgent.Said(200, "x", "[]"));
    assertEquals("Consul's answer has the index \"x\"", failure());
    for (int status : List.of(403, 500, 307)) {
      played.on(FIRST, status, "Permission denied\n");
      assertEquals("Consul answers " + status + ": Permission denied", failure());
    }
  }

  @Test
  void whatIsNoRecordsIsAFailure() throws Exception {
    played.on(FIRST, 200, names(List.of(key("a"))));
    played.on("GET kv/" + key("a"), 403, "Permission denied");
    assertEquals("Consul answers 403: Permission denied", failure());
    played.on(FIRST, 200, names(many().stream().map(KeyLookingTest::key).toList()));
    played.on(ALL, 403, "Permission denied");
    assertEquals("Consul answers 403: Permission denied", failure());
    for (String body :
        List.of("", "{}", "[1]", "[{}]", "[" + pair("a", "7") + "]", "[{\"Key\":7}]", "[] 1")) {
      played.on(ALL, 200, body);
      assertEquals(FORM, failure(), body);
    }
    for (String body : List.of("[", "[{", "[" + pair("i1"), "[" + pair("a", "\"?\"") + "]")) {
      played.on(ALL, 200, body);
      String said = failure();
      assertEquals("Consul's answer: ", said.substring(0, Math.min(17, said.length())), body);
    }
  }

  @Test
  void halfAnAnswerIsNoticed() throws Exception {
    played.on(FIRST, PlayedAgent.HALF);
    Look look = new Look();
    look.within = Duration.ofSeconds(2);
    assertEquals("Consul has not answered in full for 2000 ms", look.failure());
  }

  /** A watcher of more refuses them (registry.md 10.1), before it asks for any. */
  @Test
  void moreThanAHundredThousandAreRefused() throws Exception {
    StringBuilder names = new StringBuilder("[\"r/s/\"");
    for (int i = 0; i <= 100_000; i++) {
      names.append(",\"r/s/i").append(i).append("/0123456789abcdef\"");
    }
    played.on(NAMES, 200, names.append(']').toString());
    assertEquals("more than 100000 entries", failure());
    assertEquals(List.of(FIRST), asked(1));
  }
}
