package io.trunkcall.internal.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.channel.IoEventLoopGroup;
import io.netty.channel.IoHandle;
import io.netty.channel.IoHandler;
import io.netty.channel.IoHandlerContext;
import io.netty.channel.IoRegistration;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Who turns a loop when, at a loop that has no channels. */
@Timeout(60)
class TurnLoopTest {
  private static final Duration PATIENCE = Duration.ofSeconds(30);

  private final Loops loops = new Loops(new EpollSockets(), "turn-loop-test-", 1);
  private final TurnLoop loop = (TurnLoop) loops.group.next();
  private final Thread own = await(onLoop(loop, Thread::currentThread));

  @BeforeAll
  static void bePatient() {
    Turning.patient(true);
  }

  @AfterAll
  static void beAsBefore() {
    Turning.patient(false);
  }

  @AfterEach
  void end() {
    loops.group.shutdownGracefully(0, 0, TimeUnit.SECONDS);
  }

  private static <T> CompletableFuture<T> onLoop(TurnLoop loop, Supplier<T> what) {
    return CompletableFuture.supplyAsync(what, loop);
  }

  private static <T> T await(CompletableFuture<T> future) {
    return future.orTimeout(PATIENCE.toSeconds(), TimeUnit.SECONDS).join();
  }

  private static void until(BooleanSupplier there, String what) {
    long end = System.nanoTime() + PATIENCE.toNanos();
    while (!there.getAsBoolean()) {
      assertTrue(System.nanoTime() < end, what);
      Thread.onSpinWait();
    }
  }

  /** As many calls as it takes, one at a time, each of them waited for by its caller. */
  private static void manyCalls(TurnLoop loop) {
    await(
        onLoop(
            loop,
            () -> {
              for (int i = 0; i < 1_024; i++) {
                loop.lone().begins();
                loop.lone().ended(true);
              }
              return null;
            }));
  }

  private void standAside() {
    manyCalls(loop);
    until(loop::isAside, "the loop's thread does not stand aside");
  }

  /** What others hand over is done, by the loop's own thread. */
  private void goesOn() {
    assertEquals(own, await(onLoop(loop, Thread::currentThread)));
    assertFalse(TurnLoop.turnsOne());
  }

  /** The same, once a stand-in has let go of the loop. */
  private void goesOnByItself() {
    until(() -> own == await(onLoop(loop, Thread::currentThread)), "the loop is not taken back");
  }

  @Test
  void aLeaderThatHasNoMoreStackOrMemoryLetsGoOfTheLoop() {
    standAside();
    CompletableFuture<Thread> left = new CompletableFuture<>();
    assertThrows(
        StackOverflowError.class,
        () ->
            loop.lead(
                () -> {
                  loop.execute(() -> left.complete(Thread.currentThread()));
                  throw new StackOverflowError();
                },
                new CompletableFuture<>()));
    assertEquals(own, await(left));
    goesOn();
  }

  /** Before it waits: the loop's own thread would wake it at its third look only. */
  @Test
  void aLeaderDoesWhatATimerHasSetOffAtOnce() {
    until(
        () -> {
          standAside();
          CompletableFuture<Boolean> done = new CompletableFuture<>();
          Runnable next = () -> loop.execute(() -> done.complete(loop.isAside()));
          assertTrue(loop.lead(() -> loop.schedule(next, 0, TimeUnit.NANOSECONDS), done));
          return await(done);
        },
        "it waits before it does what a timer has set off");
    goesOn();
  }

  @Test
  void aLeaderWaitsForAFewLooksOnly() {
    standAside();
    assertTrue(loop.lead(() -> {}, new CompletableFuture<>()));
    goesOn();
  }

  /** What is due might end it, and run the functions of its caller on this thread. */
  @Test
  void aLeaderLetsGoOnceAnotherCallIsOpen() {
    standAside();
    CompletableFuture<Thread> timed = new CompletableFuture<>();
    assertTrue(
        loop.lead(
            () -> {
              loop.lone().begins();
              loop.lone().begins();
              loop.schedule(() -> timed.complete(Thread.currentThread()), 1, TimeUnit.MICROSECONDS);
            },
            new CompletableFuture<>()));
    assertEquals(own, await(timed));
  }

  @Test
  void aLeaderDoesNoWorkOfOthers() throws Exception {
    standAside();
    CountDownLatch leads = new CountDownLatch(1);
    CountDownLatch handedOver = new CountDownLatch(1);
    CompletableFuture<Boolean> led = new CompletableFuture<>();
    Thread leader =
        new Thread(
            () ->
                led.complete(
                    loop.lead(
                        () -> {
                          leads.countDown();
                          try {
                            handedOver.await();
                          } catch (InterruptedException e) {
                            throw new AssertionError(e);
                          }
                        },
                        new CompletableFuture<>())));
    leader.start();
    leads.await();
    assertFalse(loop.lead(() -> {}, new CompletableFuture<>()), "two lead at a time");
    CompletableFuture<Thread> done = onLoop(loop, Thread::currentThread);
    handedOver.countDown();
    assertEquals(own, await(done));
    assertTrue(await(led));
  }

  @Test
  void anInterruptIsLeftToTheCaller() throws Exception {
    standAside();
    CountDownLatch leads = new CountDownLatch(1);
    CompletableFuture<Boolean> interrupted = new CompletableFuture<>();
    Thread leader =
        new Thread(
            () -> {
              loop.lead(leads::countDown, new CompletableFuture<>());
              try {
                Thread.sleep(PATIENCE.toMillis());
                interrupted.complete(false);
              } catch (InterruptedException e) {
                interrupted.complete(true);
              }
            });
    leader.start();
    leads.await();
    leader.interrupt();
    assertTrue(await(interrupted));
  }

  /** For these would take the interrupt away. */
  @Test
  void theSelectorsOfTheJdkAreNotLed() {
    Loops nio = new Loops(new NioSockets(), "turn-loop-test-nio-", 1);
    TurnLoop selecting = (TurnLoop) nio.group.next();
    manyCalls(selecting);
    await(onLoop(selecting, () -> null)); // by then it would have stood aside
    assertFalse(selecting.isAside());
    assertEquals(0, await(onLoop(selecting, selecting::stoodAside)));
    nio.group.shutdownGracefully(0, 0, TimeUnit.SECONDS);
  }

  @Test
  void whatInterruptsTheLoopsOwnThreadDoesNotKeepItAwake() {
    standAside();
    own.interrupt();
    until(() -> !own.isInterrupted(), "the interrupt is still there");
    goesOn();
  }

  @Test
  void callsThatComeSeldomAreHandedOver() {
    LoneCalls.apart = -1;
    try {
      manyCalls(loop);
      assertEquals(0, await(onLoop(loop, loop::stoodAside)));
    } finally {
      Turning.patient(true);
    }
  }

  @Test
  void fewCallsAreThoseThatComeApart() {
    Turning.patient(false);
    try {
      assertTrue(LoneCalls.areFew(0, 1_000_000));
      assertTrue(LoneCalls.areFew(1, 1_000_000));
      assertFalse(LoneCalls.areFew(2, 1_000_000));
      assertTrue(LoneCalls.areFew(2, 1_500_000));
    } finally {
      Turning.patient(true);
    }
  }

  @Test
  void theLoopIsTakenBackIfFewCallsCome() {
    standAside();
    LoneCalls.apart = 500;
    try {
      until(() -> !loop.isAside(), "the loop's thread still stands aside");
      goesOn();
    } finally {
      Turning.patient(true);
    }
  }

  // Writing.

  /** As two connections do on the loop; who has written, once both are. */
  private CompletableFuture<Thread> writeTwo() {
    CompletableFuture<Thread> first = new CompletableFuture<>();
    CompletableFuture<Thread> second = new CompletableFuture<>();
    loop.flushLater(() -> first.complete(Thread.currentThread()));
    loop.flushLater(() -> second.complete(Thread.currentThread()));
    return first.thenCombine(
        second,
        (one, other) -> {
          assertEquals(one, other);
          return one;
        });
  }

  @Test
  void whatWasPutOffIsWrittenThoughNothingComes() {
    assertEquals(own, await(onLoop(loop, this::writeTwo).thenCompose(both -> both)));
  }

  @Test
  void theSocketsAreLookedAtBeforeSeveralAreWritten() {
    List<String> log = new CopyOnWriteArrayList<>();
    TurnLoop looking =
        new TurnLoop(
            (IoEventLoopGroup) loops.group,
            work -> new LoopThread(work, "turn-loop-test-looking").start(),
            executor -> new Looking(new EpollSockets().waiting().newHandler(executor), log),
            true);
    CompletableFuture<Void> both = new CompletableFuture<>();
    await(
        onLoop(
            looking,
            () -> {
              log.clear();
              looking.flushLater(() -> log.add("a"));
              looking.flushLater(() -> both.complete(null));
              return null;
            }));
    await(both);
    looking.shutdownGracefully(0, 0, TimeUnit.SECONDS);
    assertEquals(List.of("a look", "a"), log.subList(0, 2));
  }

  /** Notes when sockets are looked at without waiting for them. */
  private record Looking(IoHandler sockets, List<String> log) implements IoHandler {
    @Override
    public void initialize() {
      sockets.initialize();
    }

    @Override
    public int run(IoHandlerContext context) {
      log.add(context.canBlock() ? "a wait" : "a look");
      return sockets.run(context);
    }

    @Override
    public void prepareToDestroy() {
      sockets.prepareToDestroy();
    }

    @Override
    public void destroy() {
      sockets.destroy();
    }

    @Override
    public IoRegistration register(IoHandle handle) throws Exception {
      return sockets.register(handle);
    }

    @Override
    public void wakeup() {
      sockets.wakeup();
    }

    @Override
    public boolean isCompatible(Class<? extends IoHandle> type) {
      return sockets.isCompatible(type);
    }
  }

  @Test
  void aLeaderWritesWhatItHas() {
    standAside();
    CompletableFuture<Thread> wrote = new CompletableFuture<>();
    assertTrue(loop.lead(() -> writeTwo().thenAccept(wrote::complete), new CompletableFuture<>()));
    assertEquals(Thread.currentThread(), await(wrote));
  }

  @Test
  void whatIsDueWhileTheLoopsThreadStandsAsideIsWritten() {
    CompletableFuture<Thread> wrote = new CompletableFuture<>();
    loop.schedule(() -> writeTwo().thenAccept(wrote::complete), 100, TimeUnit.MILLISECONDS);
    standAside();
    assertEquals(own, await(wrote));
    goesOn();
  }

  /** What it has left is done by the own thread of the loop. */
  @Test
  void aLeaderWithoutStackLosesNoWritesOfOthers() {
    standAside();
    assertThrows(
        StackOverflowError.class,
        () ->
            until(
                () ->
                    loop.lead(
                        () -> {
                          loop.flushLater(() -> {});
                          throw new StackOverflowError();
                        },
                        new CompletableFuture<>()),
                "nobody may lead"));
    assertEquals(own, await(onLoop(loop, this::writeTwo).thenCompose(both -> both)));
  }

  /** It may wait for what is written. */
  @Test
  void theStandInWritesForAHandler() {
    CompletableFuture<Thread> wrote = new CompletableFuture<>();
    await(
        runHere(
            () -> {
              loop.execute(() -> writeTwo().thenAccept(wrote::complete));
              until(wrote::isDone, "nothing was written");
            }));
    assertTrue(await(wrote).getName().endsWith("-stand-in"));
    goesOnByItself();
  }

  // Handlers that the loop's own thread runs.

  /** Runs it as the only handler; whether the stand-in had to turn the loop. */
  private CompletableFuture<Boolean> runHere(Runnable handler) {
    Handler made = new Handler(handler);
    loop.execute(() -> assertTrue(loop.runHere(made, true)));
    return made.overran;
  }

  private static final class Handler implements Here {
    final CompletableFuture<Boolean> overran = new CompletableFuture<>();
    final CompletableFuture<Void> elsewhere = new CompletableFuture<>();
    private final Runnable work;

    Handler(Runnable work) {
      this.work = work;
    }

    @Override
    public long runHere(long since) {
      work.run();
      return System.nanoTime();
    }

    @Override
    public void ran() {
      overran.complete(false);
    }

    @Override
    public void overran(boolean looked) {
      overran.complete(true);
    }

    @Override
    public void elsewhere() {
      elsewhere.complete(null);
    }
  }

  @Test
  void whatCameWithAHandlerThatBlocksIsRunElsewhere() {
    CompletableFuture<Void> go = new CompletableFuture<>();
    Handler blocks = new Handler(() -> await(go));
    Handler behind = new Handler(() -> {});
    loop.execute(
        () -> {
          until(() -> loop.runHere(blocks, false), "calls that come one upon the other are taken");
          assertTrue(loop.runHere(behind, false));
        });
    await(behind.elsewhere);
    assertFalse(blocks.overran.isDone());
    go.complete(null);
    assertTrue(await(blocks.overran));
    assertFalse(behind.overran.isDone());
    goesOnByItself();
  }

  @Test
  void theStandInTurnsTheLoopOfAHandlerThatBlocks() {
    CompletableFuture<Thread> other = new CompletableFuture<>();
    CompletableFuture<Thread> timed = new CompletableFuture<>();
    loop.schedule(() -> timed.complete(Thread.currentThread()), 1, TimeUnit.MILLISECONDS);
    boolean taken =
        await(
            runHere(
                () -> {
                  assertEquals(own, Thread.currentThread());
                  loop.execute(() -> other.complete(Thread.currentThread()));
                  assertTrue(await(other).getName().endsWith("-stand-in"));
                  await(timed);
                }));
    assertTrue(taken);
    goesOnByItself();
  }

  /** One that looked before the handler ended, and comes to it behind that. */
  @Test
  void aStandInThatComesLateLetsGo() throws Exception {
    standAside();
    LoopThread late =
        new LoopThread(
            () -> loop.standIn((LoopThread) Thread.currentThread(), loop.runs(), true), "");
    late.start();
    late.join(PATIENCE.toMillis());
    assertFalse(late.isAlive());
    goesOn();
  }

  @Test
  void aHandlerDoesNotSeeTheInterruptOfAnother() {
    AtomicBoolean seen = new AtomicBoolean();
    loop.execute(own::interrupt);
    await(runHere(() -> seen.set(Thread.currentThread().isInterrupted())));
    assertFalse(seen.get());
  }

  @Test
  void aHandlerThatThrowsHarmsNobody() {
    await(
        runHere(
            () -> {
              throw new AssertionError("thrown by a handler, for a test");
            }));
    goesOnByItself();
  }
}
