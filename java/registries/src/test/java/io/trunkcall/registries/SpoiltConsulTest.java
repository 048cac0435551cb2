package io.trunkcall.registries;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.trunkcall.registry.Registry;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Answers of Consul that are spoilt at random are read or refused (registry.md 10.4, 10.5). */
@Timeout(value = 240, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class SpoiltConsulTest {
  private static final String OK = "200 OK";

  static Stream<Long> seeds() {
    return Spoilt.seeds();
  }

  private static byte[] http(String status, byte[] body) {
    String head =
        "HTTP/1.1 %s\r\nX-Consul-Index: 7\r\nConnection: close\r\nContent-Length: %d\r\n\r\n";
    return Spoilt.joined(head.formatted(status, body.length).getBytes(UTF_8), body);
  }

  /** An answer of which everything is spoilt, or only what its head tells of. */
  private static byte[] spoilt(Random random, byte[] body) {
    return random.nextInt(3) == 0
        ? Spoilt.spoilt(random, http(OK, body))
        : http(OK, Spoilt.spoilt(random, body));
  }

  private static byte[] instances() {
    StringBuilder body = new StringBuilder("[");
    for (String id : Spoilt.IDS) {
      String record = new String(Spoilt.record(id), UTF_8).replace("\"", "\\\"");
      body.append(body.length() > 1 ? "," : "")
          .append("{\"Service\":{\"ID\":\"s/%s\",\"Meta\":{\"trunkcall-0\":\"".formatted(id))
          .append(record)
          .append("\"}},\"Checks\":[{\"Status\":\"passing\"}]}");
    }
    return body.append("]").toString().getBytes(UTF_8);
  }

  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void areReadOrRefused(long seed) throws Exception {
    Random random = new Random(seed);
    byte[] good = instances();
    watch(
        "", seed, (agent, isGood) -> agent.first = isGood ? http(OK, good) : spoilt(random, good));
  }

  private static String key(String id) throws Exception {
    byte[] sum = MessageDigest.getInstance("SHA-256").digest(Spoilt.record(id));
    return "r/s/" + id + "/" + HexFormat.of().formatHex(sum, 0, 8);
  }

  /** With many names, of which all but a few have gone, or with few. */
  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void keysAreReadOrRefused(long seed) throws Exception {
    Random random = new Random(seed);
    List<String> keys = new ArrayList<>();
    List<String> pairs = new ArrayList<>();
    for (String id : Spoilt.IDS) {
      keys.add(key(id));
      String value = Base64.getEncoder().encodeToString(Spoilt.record(id));
      pairs.add("{\"Key\":\"%s\",\"Value\":\"%s\",\"ModifyIndex\":7}".formatted(key(id), value));
    }
    byte[] few = ("[\"" + String.join("\",\"", keys) + "\"]").getBytes(UTF_8);
    for (int i = 0; i < 60; i++) {
      keys.add("r/s/x" + i + "/0123456789abcdef");
    }
    byte[] many = ("[\"" + String.join("\",\"", keys) + "\"]").getBytes(UTF_8);
    byte[] all = ("[" + String.join(",", pairs) + "]").getBytes(UTF_8);
    watch(
        "/r",
        seed,
        (agent, isGood) -> {
          byte[] names = random.nextBoolean() ? few : many;
          int spoils = isGood ? -1 : random.nextInt(2);
          agent.first = spoils == 0 ? spoilt(random, names) : http(OK, names);
          agent.all = spoils == 1 ? spoilt(random, all) : http(OK, all);
          for (String id : Spoilt.IDS) {
            byte[] record = Spoilt.record(id);
            agent.values.put(id, spoils == 1 ? spoilt(random, record) : http(OK, record));
          }
        });
  }

  private interface Played {
    void next(Agent agent, boolean isGood);
  }

  private static void watch(String root, long seed, Played next) throws Exception {
    AtomicInteger taken = new AtomicInteger();
    try (ServerSocket socket = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
      Agent agent = new Agent(socket, taken);
      Thread thread = new Thread(agent, "agent");
      thread.setDaemon(true);
      thread.start();
      Spoilt.watch(
          Registry.open("consul:127.0.0.1:" + socket.getLocalPort() + root),
          isGood -> next.next(agent, isGood),
          300,
          "seed " + seed);
    }
    assertTrue(taken.get() > 10 && taken.get() < 290, "seed " + seed + ": taken " + taken);
  }

  /** Answers what is asked first with what a test says, and then with a fault. */
  private static final class Agent implements Runnable {
    private final ServerSocket agent;
    private final AtomicInteger taken;
    final Map<String, byte[]> values = new ConcurrentHashMap<>(); // of keys, by id
    volatile byte[] first = {};
    volatile byte[] all = {};

    Agent(ServerSocket agent, AtomicInteger taken) {
      this.agent = agent;
      this.taken = taken;
    }

    @Override
    public void run() {
      while (!agent.isClosed()) {
        try (Socket asker = agent.accept()) {
          BufferedReader asked = new BufferedReader(new InputStreamReader(asker.getInputStream()));
          String question = String.valueOf(asked.readLine());
          for (String line = question; line != null && !line.isEmpty(); ) {
            line = asked.readLine();
          }
          asker.getOutputStream().write(answer(question));
        } catch (IOException end) {
          // The asker has gone, or the test is over.
        }
      }
    }

    private byte[] answer(String asked) {
      if (asked.contains("recurse")) {
        return all;
      }
      if (asked.contains("raw")) {
        String id = asked.replaceFirst("GET /v1/kv/r/s/", "").replaceFirst("/.*", "");
        return values.getOrDefault(id, http("404 Not Found", new byte[0]));
      }
      if (asked.contains("consistent")) {
        return first;
      }
      taken.incrementAndGet();
      return http("500 Over", "it is over".getBytes(UTF_8));
    }
  }
}
