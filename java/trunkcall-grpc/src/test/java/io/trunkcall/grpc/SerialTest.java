package io.trunkcall.grpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(90)
class SerialTest {
  @Test
  void tasksRunInOrderAndOneAtATime() {
    ExecutorService threads = Executors.newFixedThreadPool(4);
    Serial serial = new Serial(threads);
    List<Integer> ran = new ArrayList<>(); // by one at a time, or it breaks
    AtomicInteger within = new AtomicInteger();
    AtomicInteger most = new AtomicInteger();
    CountDownLatch done = new CountDownLatch(1);
    for (int i = 0; i < 10_000; i++) {
      int task = i;
      serial.execute(
          () -> {
            most.accumulateAndGet(within.incrementAndGet(), Math::max);
            ran.add(task);
            within.decrementAndGet();
          });
    }
    serial.execute(done::countDown);
    Pair.await(done);
    threads.shutdown();
    assertEquals(1, most.get());
    assertEquals(IntStream.range(0, 10_000).boxed().toList(), ran);
  }

  @Test
  void theFirstTaskRunsOnTheThreadThatIsThere() {
    List<Runnable> given = new ArrayList<>();
    Serial serial = new Serial(given::add);
    List<Thread> ran = new ArrayList<>();
    serial.begin(
        () -> {
          ran.add(Thread.currentThread());
          serial.execute(() -> ran.add(Thread.currentThread()));
        });
    assertEquals(2, ran.size());
    assertSame(Thread.currentThread(), ran.get(1));
    assertEquals(0, given.size());
    serial.execute(() -> ran.add(null));
    assertEquals(1, given.size());
  }

  @Test
  void aTaskThatThrowsKeepsNoOtherFromRunning() {
    Serial serial = new Serial(Runnable::run);
    AtomicInteger ran = new AtomicInteger();
    serial.execute(
        () -> {
          throw new IllegalStateException("on purpose");
        });
    serial.execute(ran::incrementAndGet);
    assertEquals(1, ran.get());
  }

  @Test
  void tasksThatTheExecutorRefusesRunHere() {
    ExecutorService ended = Executors.newSingleThreadExecutor();
    ended.shutdown();
    Serial serial = new Serial(ended);
    AtomicInteger ran = new AtomicInteger();
    serial.execute(ran::incrementAndGet);
    serial.execute(ran::incrementAndGet);
    assertEquals(2, ran.get());
  }
}
