package io.trunkcall;

import static io.trunkcall.Pair.await;
import static io.trunkcall.Pair.failure;
import static io.trunkcall.Pair.until;
import static io.trunkcall.Texts.OTHER;
import static io.trunkcall.Texts.SAY;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;

import io.trunkcall.internal.transport.Turning;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Calls under a policy file that come one at a time: their callers turn the loop as well. */
@Timeout(120)
class LoneGovernedTest {
  private static final String RETRYING =
      """
      defaults:
        idempotent: true
        retries:
          attempts: 3
          backoff: 100us
          jitter: 0
      """;
  private static final String HEDGING =
      """
      defaults:
        idempotent: true
        hedging:
          delay: 1ms
      """;
  private static final String LIMITED =
      """
      services:
        test.Texts:
          methods:
            Other:
              server_rate:
                per_second: 10
                burst: 1
      """;

  @TempDir private Path folder;

  private final CountDownLatch go = new CountDownLatch(1);
  private final AtomicInteger runs = new AtomicInteger(); // of what a test counts
  private final CompletableFuture<Void> failedOnce = new CompletableFuture<>(); // an attempt
  private Server server;

  /** However slow the machine is, calls count as quick. */
  @BeforeAll
  static void bePatient() {
    Turning.patient(true);
  }

  @AfterAll
  static void beAsBefore() {
    Turning.patient(false);
  }

  @BeforeEach
  void begin() throws IOException {
    ServerSocketChannel socket = ServerSocketChannel.open();
    socket.bind(new InetSocketAddress("127.0.0.1", 0));
    Path file = folder.resolve("server.yaml");
    server =
        Server.builder()
            .policyFile(Files.writeString(file, "policy: 1\n" + LIMITED + "...\n"))
            .serve(Handler.unary(SAY, this::say), Handler.unary(OTHER, this::say))
            .build();
    server.listen(socket);
  }

  @AfterEach
  void end() {
    go.countDown();
    server.close();
  }

  private String say(String request, ServerCall call) throws Exception {
    if (request.equals("second") && runs.incrementAndGet() % 2 == 1) {
      throw new StatusException(Code.UNAVAILABLE, "on purpose");
    }
    if (request.equals("never")) {
      throw new StatusException(Code.UNAVAILABLE, "on purpose");
    }
    if (request.equals("wait")) {
      go.await();
    }
    if (request.equals("hedged") && runs.incrementAndGet() % 2 == 1) {
      go.await(); // until it is cancelled
    }
    return request + "!";
  }

  private Client under(String policy) throws IOException {
    Path file = Files.writeString(folder.resolve("policy.yaml"), "policy: 1\n" + policy + "...\n");
    return Client.builder("127.0.0.1:" + server.port())
        .policyFile(file)
        .attemptObserver(
            new AttemptObserver() {
              @Override
              public void attemptBegan(CallAttempt attempt) {}

              @Override
              public void attemptEnded(CallAttempt attempt) {
                if (!attempt.status().ok()) {
                  failedOnce.complete(null);
                }
              }
            })
        .build();
  }

  /** Makes calls until their caller turns the loop by himself. */
  private static void untilLed(Client client) {
    long before = Turning.leads();
    until(
        () -> {
          assertEquals("Ada!", client.call(SAY, "Ada"));
          return Turning.leads() > before + 100;
        },
        "no call was made by its caller alone");
  }

  /** Makes such calls until the caller of one has turned the loop for it; how that fails. */
  private static Code ledFailure(Client client, Method<String, String> method, String request) {
    Code[] failed = new Code[1];
    until(
        () -> {
          untilLed(client);
          long before = Turning.leads();
          failed[0] = failure(() -> client.call(method, request)).code();
          return Turning.leads() > before;
        },
        "no call was made by its caller alone");
    return failed[0];
  }

  /** Makes such calls until the answer of one is read by its caller. */
  private void untilAnsweredByLeader(Client client, String request) {
    Thread[] reads = new Thread[1];
    Codec<String> noting =
        Texts.decoding(
            text -> {
              reads[0] = Thread.currentThread();
              return text;
            });
    Method<String, String> method = Method.unary(SAY.name(), Texts.CODEC, noting);
    until(
        () -> {
          untilLed(client);
          runs.set(0);
          assertEquals(request + "!", client.call(method, request));
          return reads[0] == Thread.currentThread() && runs.get() > 1;
        },
        "no answer was read by its caller");
  }

  @Test
  void aRetryIsMadeByTheLeader() throws Exception {
    try (Client client = under(RETRYING)) {
      untilAnsweredByLeader(client, "second");
    }
  }

  @Test
  void aCallEndsWithItsLastAttempt() throws Exception {
    try (Client client = under(RETRYING)) {
      assertEquals(Code.UNAVAILABLE, ledFailure(client, SAY, "never"));
      untilLed(client);
    }
  }

  @Test
  void aCallThatPausesEndsWithItsClient() throws Exception {
    try (Client client = under(RETRYING.replace("100us", "1h"))) {
      CompletableFuture<Code> code = new CompletableFuture<>();
      Thread caller =
          new Thread(
              () -> {
                try {
                  untilLed(client);
                  code.complete(failure(() -> client.call(SAY, "never")).code());
                } catch (Throwable e) {
                  code.completeExceptionally(e);
                }
              });
      caller.start();
      await(failedOnce);
      client.close();
      assertEquals(Code.UNAVAILABLE, await(code));
      caller.join();
    }
  }

  @Test
  void aHedgeIsMadeByTheLeader() throws Exception {
    try (Client client = under("budget:\n  percent: 100\n" + HEDGING)) {
      untilAnsweredByLeader(client, "hedged");
    }
  }

  /** It is open while none of its attempts is, so that no other caller turns the loop. */
  @Test
  void functionsOfAHedgedCallAreNotRunByTheCallerOfAnother() throws Exception {
    try (Client client = under("budget:\n  percent: 0\n  least: 0\n" + HEDGING)) {
      for (int i = 0; i < 10; i++) {
        untilLed(client);
        CompletableFuture<Thread> told = new CompletableFuture<>();
        client.callAsync(OTHER, "x"); // after which the next is refused for 100 ms
        client
            .callAsync(OTHER, "y")
            .whenComplete((answer, error) -> told.complete(Thread.currentThread()));
        while (!told.isDone()) {
          assertEquals("Ada!", client.call(SAY, "Ada"));
        }
        assertNotSame(Thread.currentThread(), await(told));
      }
    }
  }

  @Test
  void anOpenBreakerRefusesAndLetsProbesIn() throws Exception {
    String policy = "defaults:\n  breaker:\n    consecutive: 3\n    open: 1s\n";
    try (Client client = under(policy)) {
      untilLed(client);
      until(
          () -> failure(() -> client.call(SAY, "never")).getMessage().contains("breaker of"),
          "the breaker does not open");
      until(
          () -> {
            try {
              return client.call(SAY, "Ada").equals("Ada!");
            } catch (StatusException refused) {
              return false;
            }
          },
          "no probe was let in");
      untilLed(client);
    }
  }

  @Test
  void aTimeoutOfTheFileEndsTheCall() throws Exception {
    String method = "services:\n  test.Texts:\n    methods:\n      Other:\n        timeout: 1s\n";
    try (Client client = under(method)) {
      assertEquals(Code.DEADLINE_EXCEEDED, ledFailure(client, OTHER, "wait"));
      untilLed(client);
    }
  }
}
