package io.trunkcall.consul;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

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
import java.net.http.HttpTimeoutException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
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

/**
 * An agent that begins to answer and then is silent is noticed (registry.md 10.1). Who is
 * interrupted meanwhile learns of it, and does what it then has to do.
 */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class HalfAnswersTest {
  private static final Written RECORD =
      new Written(ServiceRecord.builder("s", "x", "127.0.0.1:9").build());
  private static final String WITHDRAWS = "/v1/agent/service/deregister/";

  private final CountDownLatch over = new CountDownLatch(1);
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final BlockingQueue<String> withdrawn = new LinkedBlockingQueue<>();
  private volatile boolean half = true;
  private HttpServer server;
  private String host;

  @BeforeEach
  void begin() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.setExecutor(threads);
    server.createContext("/", this::answer);
    server.start();
    host = "127.0.0.1:" + server.getAddress().getPort();
  }

  @AfterEach
  void end() {
    over.countDown();
    server.stop(0);
    threads.shutdownNow();
  }

  /**
   * What is to be done is done, and nobody is published there yet. What is asked for is answered
   * half, and then nothing more is said, until somebody is interrupted.
   */
  private void answer(HttpExchange exchange) throws IOException {
    String path = exchange.getRequestURI().getPath();
    boolean fault = path.equals("/v1/fault");
    boolean done = exchange.getRequestMethod().equals("PUT") && !fault;
    if (done || path.startsWith("/v1/agent/health/")) {
      if (path.startsWith(WITHDRAWS)) {
        withdrawn.add(path.substring(WITHDRAWS.length()));
      }
      exchange.sendResponseHeaders(done ? 200 : 404, -1);
      exchange.close();
      return;
    }
    String record = new String(Instance.registration(RECORD, Duration.ofSeconds(15)), UTF_8);
    byte[] whole = ((path.startsWith("/v1/health/") ? "[" : "") + record).getBytes(UTF_8);
    boolean silent = half;
    exchange.getResponseHeaders().set("Content-Type", "application/json");
    exchange.getResponseHeaders().set("X-Consul-Index", "7");
    exchange.sendResponseHeaders(fault ? 500 : 200, whole.length);
    exchange.getResponseBody().write(whole, 0, silent ? whole.length / 2 : whole.length);
    exchange.getResponseBody().flush();
    if (silent) {
      try {
        over.await();
      } catch (InterruptedException end) {
        // The test is over.
      }
    }
    exchange.close();
  }

  private Agent agent() {
    return new Agent("http://" + host, HttpClient.newHttpClient(), "");
  }

  private static void assertLate(Throwable late, Duration within) {
    assertInstanceOf(HttpTimeoutException.class, late);
    assertEquals(
        "Consul has not answered in full for " + within.toMillis() + " ms", late.getMessage());
  }

  @Test
  void aWatcherFails() throws Exception {
    CompletableFuture<Throwable> failed = new CompletableFuture<>();
    Duration within = Duration.ofSeconds(2);
    Source source =
        (service, watcher) -> {
          try {
            new InstanceLooking(agent(), service, within).watch(watcher);
          } catch (HttpTimeoutException fault) {
            if (String.valueOf(fault.getMessage())
                .startsWith("Consul")) { // not of the answer's head
              failed.complete(fault);
            }
            throw fault;
          }
        };
    try (Client client =
        Client.builder("registry:s").resolver("registry", Registry.resolver(source)).build()) {
      client.connect(); // which has it ask
      assertLate(failed.get(), within);
    }
  }

  @Test
  void aRegistrarFails() {
    Duration lease = Duration.ofSeconds(5);
    InstanceKeeping keeping = new InstanceKeeping(agent(), lease, List.of(RECORD));
    assertLate(assertThrows(IOException.class, () -> keeping.keep(() -> {})), lease);
  }

  @Test
  void soIsWhatItSaysOfAFault() {
    Duration within = Duration.ofSeconds(5);
    byte[] nothing = new byte[0];
    assertLate(
        assertThrows(IOException.class, () -> agent().put("fault", nothing, within)), within);
  }

  /** Waits until a thread reads an answer, and interrupts it. */
  private void interruptReading(Thread thread) throws InterruptedException {
    while (Stream.of(thread.getStackTrace())
        .noneMatch(frame -> frame.getClassName().endsWith("TimedBody"))) {
      Thread.sleep(1); // until the test's time is over
    }
    half = false;
    thread.interrupt();
  }

  @Test
  void aRegistrarThatIsInterruptedWithdraws() throws Exception {
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
