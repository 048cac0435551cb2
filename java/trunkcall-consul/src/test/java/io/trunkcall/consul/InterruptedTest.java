package io.trunkcall.consul;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.trunkcall.Client;
import io.trunkcall.registry.Registry;
import io.trunkcall.registry.ServiceRecord;
import io.trunkcall.registry.Source;
import io.trunkcall.registry.Written;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.http.HttpClient;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Who is interrupted while it reads an answer learns of it, and does what it then has to do. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class InterruptedTest {
  private static final Written RECORD =
      new Written(ServiceRecord.builder("s", "x", "127.0.0.1:9").build());

  private final CountDownLatch over = new CountDownLatch(1);
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final Queue<String> looks = new ConcurrentLinkedQueue<>();
  private final BlockingQueue<String> withdrawn = new LinkedBlockingQueue<>();
  private HttpServer server;

  @BeforeEach
  void begin() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.setExecutor(threads);
    server.createContext("/", this::answer);
    server.start();
  }

  @AfterEach
  void end() {
    over.countDown();
    server.stop(0);
    threads.shutdownNow();
  }

  /** The first look at what is published is answered half, and then nothing more is said. */
  private void answer(HttpExchange exchange) throws IOException {
    String path = exchange.getRequestURI().getPath();
    boolean put = exchange.getRequestMethod().equals("PUT");
    if (put || path.startsWith("/v1/agent/health/")) {
      if (path.startsWith("/v1/agent/service/deregister/")) {
        withdrawn.add(path.substring("/v1/agent/service/deregister/".length()));
      }
      exchange.sendResponseHeaders(put ? 200 : 404, -1);
      exchange.close();
      return;
    }
    byte[] whole = Instance.registration(RECORD, Duration.ofSeconds(15));
    boolean half = looks.isEmpty();
    looks.add(path);
    exchange.getResponseHeaders().set("Content-Type", "application/json");
    exchange.getResponseHeaders().set("X-Consul-Index", "7");
    exchange.sendResponseHeaders(200, whole.length);
    exchange.getResponseBody().write(whole, 0, half ? whole.length / 2 : whole.length);
    exchange.getResponseBody().flush();
    if (half) {
      try {
        over.await();
      } catch (InterruptedException end) {
        // The test is over.
      }
    }
    exchange.close();
  }

  private Agent agent() {
    String host = "127.0.0.1:" + server.getAddress().getPort();
    return new Agent("http://" + host, HttpClient.newHttpClient(), "");
  }

  /** Waits until a thread reads an answer, and interrupts it. */
  private static void interruptReading(Thread thread) throws InterruptedException {
    while (Stream.of(thread.getStackTrace())
        .noneMatch(frame -> frame.getClassName().endsWith("TimedBody"))) {
      Thread.sleep(1); // until the test's time is over
    }
    thread.interrupt();
  }

  @Test
  void aRegistrarWithdraws() throws Exception {
    Duration lease = Duration.ofSeconds(3);
    CompletableFuture<Void> ended = new CompletableFuture<>();
    Thread keeping =
        new Thread(
            () -> {
              try {
                new InstanceKeeping(agent(), lease, List.of(RECORD)).keep(() -> {});
                ended.complete(null);
              } catch (Throwable fault) {
                ended.completeExceptionally(fault);
              }
            });
    keeping.start();
    interruptReading(keeping);
    assertEquals("s/x", withdrawn.poll(30, TimeUnit.SECONDS));
    assertNull(ended.get(30, TimeUnit.SECONDS));
  }

  @Test
  void theThreadOfAWatcherEndsWithItsClient() throws Exception {
    CompletableFuture<Thread> began = new CompletableFuture<>();
    Source source =
        (service, watcher) -> {
          began.complete(Thread.currentThread());
          new InstanceLooking(agent(), service).watch(watcher);
        };
    Thread watching;
    try (Client client =
        Client.builder("registry:s").resolver("registry", Registry.resolver(source)).build()) {
      client.connect(); // which has it ask
      watching = began.get(30, TimeUnit.SECONDS);
      interruptReading(watching); // as closing the client does
    }
    watching.join(30_000);
    assertFalse(watching.isAlive());
  }
}
