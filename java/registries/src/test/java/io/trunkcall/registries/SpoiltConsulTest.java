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
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Answers of Consul that are spoilt at random are read or refused (registry.md 10.4). */
@Timeout(value = 240, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class SpoiltConsulTest {
  static Stream<Long> seeds() {
    return Spoilt.seeds();
  }

  private static byte[] http(String status, String body) {
    int length = body.getBytes(UTF_8).length;
    String head =
        "HTTP/1.1 %s\r\nX-Consul-Index: 7\r\nConnection: close\r\nContent-Length: %d\r\n\r\n";
    return (head.formatted(status, length) + body).getBytes(UTF_8);
  }

  private static byte[] good() {
    StringBuilder body = new StringBuilder("[");
    for (String id : Spoilt.IDS) {
      String record = new String(Spoilt.record(id), UTF_8).replace("\"", "\\\"");
      body.append(body.length() > 1 ? "," : "")
          .append("{\"Service\":{\"ID\":\"s/%s\",\"Meta\":{\"trunkcall-0\":\"".formatted(id))
          .append(record)
          .append("\"}},\"Checks\":[{\"Status\":\"passing\"}]}");
    }
    return http("200 OK", body + "]");
  }

  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void areReadOrRefused(long seed) throws Exception {
    Random random = new Random(seed);
    AtomicInteger taken = new AtomicInteger();
    try (ServerSocket agent = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
      Agent played = new Agent(agent, taken);
      Thread thread = new Thread(played, "agent");
      thread.setDaemon(true);
      thread.start();
      Spoilt.watch(
          Registry.open("consul:127.0.0.1:" + agent.getLocalPort()),
          good -> played.answer = good ? good() : Spoilt.spoilt(random, good()),
          150,
          "seed " + seed);
    }
    assertTrue(taken.get() > 10 && taken.get() < 140, "seed " + seed + ": taken " + taken);
  }

  /** Answers what is asked first with what a test says, and then with a fault. */
  private static final class Agent implements Runnable {
    private final ServerSocket agent;
    private final AtomicInteger taken;
    volatile byte[] answer = {};

    Agent(ServerSocket agent, AtomicInteger taken) {
      this.agent = agent;
      this.taken = taken;
    }

    @Override
    public void run() {
      while (!agent.isClosed()) {
        try (Socket asker = agent.accept()) {
          BufferedReader asked = new BufferedReader(new InputStreamReader(asker.getInputStream()));
          String first = String.valueOf(asked.readLine());
          for (String line = first; line != null && !line.isEmpty(); ) {
            line = asked.readLine();
          }
          boolean begins = first.contains("consistent");
          taken.addAndGet(begins ? 0 : 1);
          asker.getOutputStream().write(begins ? answer : http("500 Over", "it is over"));
        } catch (IOException end) {
          // The asker has gone, or the test is over.
        }
      }
    }
  }
}
