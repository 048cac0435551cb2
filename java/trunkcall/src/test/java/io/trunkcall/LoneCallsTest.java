package io.trunkcall;

import static io.trunkcall.Pair.await;
import static io.trunkcall.Pair.failure;
import static io.trunkcall.Pair.until;
import static io.trunkcall.Texts.SAY;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.trunkcall.internal.transport.Turning;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Calls that come one at a time: their callers turn the loop by themselves, and handlers are run by
 * the loop's own thread. The server has other loops than the client, whose loop serves nobody then.
 */
@Timeout(120)
class LoneCallsTest {
  private static final long SHORT = Served.shortNanos;
  private static final String LOOP = "trunkcall-nio-loop-"; // without the stand-in's ending
  private static final String WAIT = "wait";

  private final CountDownLatch go = new CountDownLatch(1);
  private volatile CompletableFuture<Thread> waits = new CompletableFuture<>();
  private final Set<String> calling = ConcurrentHashMap.newKeySet(); // threads of such handlers
  private Server server;
  private Client client;

  /** However slow the machine is, calls count as quick and handlers as short. */
  @BeforeAll
  static void bePatient() {
    Turning.patient(true);
    Served.shortNanos = Long.MAX_VALUE - 1;
  }

  @AfterAll
  static void beAsBefore() {
    Turning.patient(false);
    Served.shortNanos = SHORT;
  }

  @BeforeEach
  void begin() throws IOException {
    ServerSocketChannel socket = ServerSocketChannel.open();
    socket.bind(new InetSocketAddress("127.0.0.1", 0));
    server = Server.builder().serve(Handler.unary(SAY, this::say)).build();
    server.listen(socket);
    client = another();
  }

  private Client another() {
    return Client.of("127.0.0.1:" + server.port());
  }

  @AfterEach
  void end() {
    go.countDown();
    client.close();
    server.close();
  }

  private String say(String request, ServerCall call) throws Exception {
    if (request.equals(WAIT)) {
      waits.complete(Thread.currentThread());
      go.await();
    }
    if (request.equals("call")) {
      calling.add(Thread.currentThread().getName());
      return client.call(SAY, "inside");
    }
    if (request.equals("interrupt")) {
      Thread.currentThread().interrupt();
    }
    return request.equals("who") ? Thread.currentThread().getName() : request + "!";
  }

  /** Makes calls until their caller turns the loop by himself. */
  private void untilLed() {
    long before = Turning.leads();
    until(
        () -> {
          assertEquals("Ada!", client.call(SAY, "Ada"));
          return Turning.leads() > before + 100;
        },
        "no call was made by its caller alone");
  }

  private static boolean isLoop(String name) {
    return name.startsWith(LOOP) && !name.endsWith("-stand-in");
  }

  /** Makes calls until the loop's own thread runs their handlers. */
  private void untilRunByLoop() {
    until(() -> isLoop(client.call(SAY, "who")), "no handler was run by a loop's thread");
  }

  /** Makes a call in a thread of its own. */
  private CompletableFuture<String> inAnother(String request, CallOptions options, Thread[] made) {
    CompletableFuture<String> result = new CompletableFuture<>();
    made[0] =
        new Thread(
            () -> {
              try {
                untilLed();
                result.complete(client.call(SAY, request, options));
              } catch (Throwable e) {
                result.completeExceptionally(e);
              }
            });
    made[0].setDaemon(true);
    made[0].start();
    return result;
  }

  @Test
  void aCallerAloneTurnsTheLoop() {
    untilLed();
    long before = Turning.leads();
    for (int i = 0; i < 1_000; i++) {
      assertEquals("Ada!", client.call(SAY, "Ada"));
    }
    assertTrue(Turning.leads() > before);
  }

  @Test
  void callsOfOthersAreMadeMeanwhile() throws Exception {
    AtomicBoolean enough = new AtomicBoolean();
    Thread[] alone = new Thread[1];
    CompletableFuture<Void> done = new CompletableFuture<>();
    alone[0] =
        new Thread(
            () -> {
              try {
                while (!enough.get()) {
                  assertEquals("Ada!", client.call(SAY, "Ada"));
                }
                done.complete(null);
              } catch (Throwable e) {
                done.completeExceptionally(e);
              }
            });
    alone[0].start();
    for (int round = 0; round < 20; round++) {
      long before = Turning.leads();
      until(() -> Turning.leads() > before + 50, "the caller turns the loop no more");
      CompletableFuture<Thread> told =
          client.callAsync(SAY, "Bob").thenApply(answer -> Thread.currentThread());
      assertNotSame(alone[0], await(told));
      assertEquals("Eve!", client.call(SAY, "Eve"));
    }
    enough.set(true);
    await(done);
  }

  @Test
  void aCallThatTakesLongIsInterrupted() {
    Thread[] caller = new Thread[1];
    CompletableFuture<String> result = inAnother(WAIT, CallOptions.NONE, caller);
    await(waits);
    long before = System.nanoTime();
    caller[0].interrupt();
    assertEquals(Code.CANCELLED, failure(() -> await(result)).code());
    // By itself, the loop would wake for the connection's own time limit only.
    assertTrue(System.nanoTime() - before < TimeUnit.SECONDS.toNanos(8));
  }

  @Test
  void aCallThatTakesLongEndsAtItsDeadline() {
    untilLed();
    CallOptions soon = CallOptions.NONE.withTimeout(Duration.ofMillis(300));
    assertEquals(Code.DEADLINE_EXCEEDED, failure(() -> client.call(SAY, WAIT, soon)).code());
    assertEquals("Ada!", client.call(SAY, "Ada"));
  }

  @Test
  void aCallThatTakesLongEndsWithItsClient() {
    CompletableFuture<String> result = inAnother(WAIT, CallOptions.NONE, new Thread[1]);
    await(waits);
    client.close();
    assertEquals(Code.CANCELLED, failure(() -> await(result)).code());
  }

  @Test
  void aCallThatTakesLongIsAnswered() {
    CompletableFuture<String> result = inAnother(WAIT, CallOptions.NONE, new Thread[1]);
    await(waits);
    assertEquals("Bob!", await(client.callAsync(SAY, "Bob")));
    go.countDown();
    assertEquals("wait!", await(result));
  }

  @Test
  void aServerThatIsGoneIsNoticed() {
    CompletableFuture<String> result = inAnother(WAIT, CallOptions.NONE, new Thread[1]);
    await(waits);
    client.connections().forEach(Connection::disconnect);
    assertEquals(Code.UNAVAILABLE, failure(() -> await(result)).code());
  }

  @Test
  void handlersThatAreRunByTheLoopMayBlock() throws Exception {
    List<CompletableFuture<String>> waiting = new ArrayList<>();
    until(
        () -> {
          untilRunByLoop();
          waits = new CompletableFuture<>();
          waiting.add(client.callAsync(SAY, WAIT));
          return isLoop(await(waits).getName());
        },
        "no handler that waits was run by a loop's thread");
    CompletableFuture<String> result = waiting.get(waiting.size() - 1);
    List<Client> others = new ArrayList<>();
    try {
      for (int i = 0; i < 2 * Runtime.getRuntime().availableProcessors(); i++) {
        others.add(another()); // one at least is served by the same loop
      }
      for (Client other : others) {
        assertEquals("Bob!", await(other.callAsync(SAY, "Bob")));
      }
      assertEquals("Ada!", await(client.callAsync(SAY, "Ada")));
      assertFalse(result.isDone());
      go.countDown();
      assertEquals("wait!", await(result));
      untilRunByLoop();
    } finally {
      others.forEach(Client::close);
    }
  }

  /** Makes so many calls at once; what they are answered. */
  private List<String> together(String request, int calls) {
    List<CompletableFuture<String>> made = new ArrayList<>();
    for (int i = 0; i < calls; i++) {
      made.add(client.callAsync(SAY, request));
    }
    return made.stream().map(Pair::await).toList();
  }

  /** Makes calls together until the loop's own thread runs the handlers of several. */
  private void untilManyAreRunByLoop() {
    until(
        () -> together("who", 100).stream().filter(LoneCallsTest::isLoop).count() > 1,
        "no handlers of calls that came together were run by a loop's thread");
  }

  @Test
  void handlersOfManyCallsAreRunByTheLoop() {
    untilManyAreRunByLoop();
    assertEquals(List.of("Ada!"), together("Ada", 1_000).stream().distinct().toList());
  }

  /** One handler's call came first of those that the loop's thread runs; it keeps that thread. */
  @Test
  void oneOfManyThatWaitsHoldsUpNoOther() {
    untilMany(
        () -> {
          untilManyAreRunByLoop();
          List<CompletableFuture<String>> others = new ArrayList<>();
          CompletableFuture<String> waiting = client.callAsync(SAY, WAIT);
          for (int i = 0; i < 100; i++) {
            others.add(client.callAsync(SAY, "Bob"));
          }
          others.forEach(each -> assertEquals("Bob!", await(each)));
          assertFalse(waiting.isDone());
          return waiting;
        });
  }

  /** Makes such calls until one waits on a loop's thread; then all are let go. */
  private void untilMany(Supplier<CompletableFuture<String>> calls) {
    List<CompletableFuture<String>> waiting = new ArrayList<>();
    until(
        () -> {
          waits = new CompletableFuture<>();
          waiting.add(calls.get());
          return isLoop(await(waits).getName());
        },
        "no handler that waits was run by a loop's thread");
    go.countDown();
    waiting.forEach(each -> assertEquals("wait!", await(each)));
  }

  @Test
  void whatAnInterceptorAnswersLaterIsAnswered() throws Exception {
    ServerSocketChannel socket = ServerSocketChannel.open();
    socket.bind(new InetSocketAddress("127.0.0.1", 0));
    try (Server later =
            Server.builder()
                .serve(Handler.unary(SAY, this::say))
                .serverInterceptor(
                    (call, next) ->
                        next.proceed(call)
                            .thenCompose(answer -> CompletableFuture.supplyAsync(() -> answer)))
                .build();
        Client other = Client.of(later.listen(socket))) {
      until(() -> isLoop(other.call(SAY, "who")), "no handler was run by a loop's thread");
      for (int i = 0; i < 1_000; i++) {
        assertEquals("Ada!", await(other.callAsync(SAY, "Ada")));
      }
    }
  }

  @Test
  void manyThatAreRunByTheLoopMayCall() {
    untilOneCallsOnALoop(
        () -> {
          untilManyAreRunByLoop();
          assertEquals(List.of("inside!"), together("call", 30).stream().distinct().toList());
        });
  }

  @Test
  void handlersThatAreRunByTheLoopMayCall() {
    untilOneCallsOnALoop(
        () -> {
          untilRunByLoop();
          assertEquals("inside!", client.call(SAY, "call"));
        });
  }

  private void untilOneCallsOnALoop(Runnable calls) {
    until(
        () -> {
          calls.run();
          return calling.stream().anyMatch(LoneCallsTest::isLoop);
        },
        "no handler that calls was run by a loop's thread");
  }

  @Test
  void anInterruptThatAHandlerLeavesIsGone() {
    untilRunByLoop();
    for (int i = 0; i < 100; i++) {
      assertEquals("interrupt!", client.call(SAY, "interrupt"));
      assertEquals("Ada!", client.call(SAY, "Ada"));
    }
  }

  @Test
  void aHandlerThatIsRunByTheLoopIsCancelled() throws Exception {
    untilRunByLoop();
    CompletableFuture<String> result = client.callAsync(SAY, WAIT);
    Thread thread = await(waits);
    result.cancel(true);
    until(() -> server.running() == 0, "the handler goes on");
    assertEquals("Ada!", client.call(SAY, "Ada"));
    assertFalse(thread.isInterrupted());
  }

  @Test
  void aCodecMayNotCallWhileItsCallerTurnsTheLoop() {
    CompletableFuture<Throwable> refused = new CompletableFuture<>();
    Codec<String> calls =
        Texts.decoding(
            text -> {
              try {
                return client.call(SAY, "inside");
              } catch (IllegalStateException e) {
                refused.complete(e);
                throw e;
              }
            });
    Method<String, String> method = Method.unary(SAY.name(), Texts.CODEC, calls);
    untilLed();
    failure(() -> client.call(method, "Ada"));
    assertTrue(await(refused).getMessage().contains("would block an event loop"));
    assertEquals("Ada!", client.call(SAY, "Ada"));
  }

  @Test
  void aHandlerIsShortUntilItIsNot() {
    long before = Served.shortNanos;
    Served.shortNanos = SHORT;
    try {
      Served served = new Served(Handler.unary(SAY, this::say), false);
      assertEquals(32, runsUntilShort(served));
      served.took(SHORT + 1);
      assertEquals(96, runsUntilShort(served));
      served.overran();
      assertEquals(96, runsUntilShort(served));
      served.overran();
      assertEquals(160, runsUntilShort(served));
    } finally {
      Served.shortNanos = before;
    }
  }

  private static int runsUntilShort(Served served) {
    int runs = 0;
    while (!served.isShort()) {
      served.took(SHORT);
      runs++;
    }
    return runs;
  }

  /** Nobody sleeps for long, whoever turns the loop when. */
  @Test
  void manyWhoComeAndGoAreAllServed() throws Exception {
    List<Thread> threads = new ArrayList<>();
    CompletableFuture<Void> failed = new CompletableFuture<>();
    for (int i = 0; i < 4; i++) {
      Thread one =
          new Thread(
              () -> {
                try {
                  for (int round = 0; round < 30; round++) {
                    for (int call = 0; call < 100; call++) {
                      assertEquals("Ada!", client.call(SAY, "Ada"));
                    }
                    TimeUnit.MILLISECONDS.sleep((int) (Math.random() * 20));
                  }
                } catch (Throwable e) {
                  failed.completeExceptionally(e);
                }
              });
      one.start();
      threads.add(one);
    }
    for (Thread one : threads) {
      one.join(TimeUnit.SECONDS.toMillis(60));
      assertFalse(one.isAlive());
    }
    failed.complete(null);
    await(failed);
  }
}
