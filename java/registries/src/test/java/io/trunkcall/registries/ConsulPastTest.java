package io.trunkcall.registries;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.trunkcall.Client;
import io.trunkcall.registry.Registry;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A server of Consul that has just been started tells of its past (registry.md 10.4). */
@Timeout(120)
final class ConsulPastTest {
  private static final Logger LOGGER = Logger.getLogger("io.trunkcall"); // or it would be collected

  private record Answer(String asked, String index, String body) {}

  private static List<Answer> answers(String question, String rubbish) {
    return List.of(
        new Answer(question + "consistent", "9", "[]"),
        new Answer(question + "index=9&wait=60s", "3", rubbish), // which is told of if it is taken
        new Answer(question + "consistent", "12", "[]"),
        new Answer(question + "index=12&wait=60s", "", ""), // a failure
        new Answer(question + "consistent", "2", "[]"));
  }

  private final BlockingQueue<String> asked = new LinkedBlockingQueue<>();
  private final Queue<Answer> answers = new ConcurrentLinkedQueue<>();
  private final Queue<String> logged = new ConcurrentLinkedQueue<>();
  private final Handler handler =
      new Handler() {
        @Override
        public void publish(LogRecord one) {
          logged.add(one.getMessage());
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
      };
  private HttpServer agent;

  @BeforeEach
  void begin() throws IOException {
    LOGGER.addHandler(handler);
    agent = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    agent.createContext("/", this::answer);
    agent.start();
  }

  @AfterEach
  void end() {
    agent.stop(0);
    LOGGER.removeHandler(handler);
  }

  private void answer(HttpExchange exchange) throws IOException {
    Answer one = answers.poll();
    asked.add(String.valueOf(exchange.getRequestURI().getQuery()));
    if (one == null) {
      return; // as Consul does while nothing changes
    }
    byte[] body = one.body.getBytes(StandardCharsets.UTF_8);
    exchange.getResponseHeaders().set("X-Consul-Index", one.index);
    exchange.sendResponseHeaders(200, body.length == 0 ? -1 : body.length);
    exchange.getResponseBody().write(body);
    exchange.close();
  }

  @Test
  void itIsNotAskedForThat() throws Exception {
    String rubbish = "[{\"Service\": {\"ID\": \"s/gone\", \"Meta\": {\"trunkcall-0\": \"{\"}}}]";
    check("", answers("", rubbish));
  }

  @Test
  void norWhereRecordsAreKeys() throws Exception {
    check("/root", answers("keys&", "[\"root/s/gone\"]"));
  }

  private void check(String root, List<Answer> said) throws Exception {
    answers.addAll(said);
    String name = "consul:127.0.0.1:" + agent.getAddress().getPort() + root;
    try (Client client =
        Client.builder("registry:s")
            .resolver("registry", Registry.resolver(Registry.openStore(name)))
            .build()) {
      client.connect(); // which has it ask
      for (Answer one : said) {
        assertEquals(one.asked, asked.take());
      }
      asked.take();
      assertEquals(List.of(), logged.stream().filter(one -> one.contains("gone")).toList());
    }
  }
}
