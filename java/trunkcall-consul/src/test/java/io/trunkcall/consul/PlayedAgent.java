package io.trunkcall.consul;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.http.HttpClient;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;

/** An agent that answers as a test says. */
final class PlayedAgent implements AutoCloseable {
  /** What is answered. */
  record Said(int status, String index, String body) {}

  /** Not before the test is over. */
  static final Said NEVER = new Said(0, "", "");

  /** Half of {@code []}, and no more before the test is over. */
  static final Said HALF = new Said(200, "7", "[");

  private final Map<String, Said> answers = new ConcurrentHashMap<>();
  private final BlockingQueue<String> asked = new LinkedBlockingQueue<>();
  private final CountDownLatch over = new CountDownLatch(1);
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final HttpServer server;

  PlayedAgent() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.setExecutor(threads);
    server.createContext("/", this::answer);
    server.start();
  }

  /** Has what begins so answered: a method, and what follows {@code /v1/}. */
  PlayedAgent on(String what, int status, String body) {
    return on(what, new Said(status, "7", body));
  }

  PlayedAgent on(String what, Said said) {
    answers.put(what, said);
    return this;
  }

  /** The next thing that was asked, with what it says. */
  String asked() throws InterruptedException {
    return asked.take();
  }

  Agent agent() {
    String base = "http://127.0.0.1:" + server.getAddress().getPort();
    return new Agent(base, HttpClient.newHttpClient(), "secret");
  }

  private void answer(HttpExchange exchange) throws IOException {
    String what =
        exchange.getRequestMethod()
            + exchange.getRequestURI().toString().replaceFirst("^/v1/", " ");
    String body = new String(exchange.getRequestBody().readAllBytes(), UTF_8);
    boolean known = "secret".equals(exchange.getRequestHeaders().getFirst("X-Consul-Token"));
    asked.add((known ? what : what + " of a stranger") + (body.isEmpty() ? "" : " " + body));
    Said said =
        answers.entrySet().stream()
            .filter(one -> what.startsWith(one.getKey()))
            .max(Map.Entry.comparingByKey()) // the longest that fits
            .map(Map.Entry::getValue)
            .orElse(new Said(404, "7", ""));
    if (said == NEVER) {
      awaitEnd();
    }
    byte[] text = said.body.getBytes(UTF_8);
    int length = said == HALF ? 2 : text.length;
    exchange.getResponseHeaders().set("X-Consul-Index", said.index);
    exchange.sendResponseHeaders(said == NEVER ? 500 : said.status, length == 0 ? -1 : length);
    exchange.getResponseBody().write(text);
    exchange.getResponseBody().flush();
    if (said == HALF) {
      awaitEnd();
    }
    exchange.close();
  }

  private void awaitEnd() {
    try {
      over.await();
    } catch (InterruptedException end) {
      // The test is over.
    }
  }

  @Override
  public void close() {
    over.countDown();
    server.stop(0);
    threads.shutdownNow();
  }
}
