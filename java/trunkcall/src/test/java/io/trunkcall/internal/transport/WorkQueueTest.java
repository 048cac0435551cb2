package io.trunkcall.internal.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class WorkQueueTest {
  private static void run(Work work) {
    while (work != null) {
      Work next = work.next;
      work.run();
      work = next;
    }
  }

  @Test
  void onlyTheFirstHasTheLoopWoken() {
    WorkQueue queue = new WorkQueue();
    assertTrue(queue.add(() -> {}));
    assertFalse(queue.add(() -> {}));
    run(queue.takeAll());
    assertTrue(queue.isEmpty());
    assertNull(queue.takeAll());
    assertTrue(queue.add(() -> {}));
  }

  @Test
  void nothingIsLostAndTheOrderOfEachThreadHolds() throws Exception {
    WorkQueue queue = new WorkQueue();
    int threads = 4;
    int each = 10_000;
    int[] last = new int[threads];
    List<Thread> all = new ArrayList<>();
    for (int thread = 0; thread < threads; thread++) {
      int of = thread;
      Thread made =
          new Thread(
              () -> {
                for (int number = 1; number <= each; number++) {
                  int own = number;
                  queue.add(
                      () -> {
                        assertEquals(last[of] + 1, own);
                        last[of] = own;
                      });
                }
              });
      all.add(made);
      made.start();
    }
    while (all.stream().anyMatch(Thread::isAlive) || !queue.isEmpty()) {
      run(queue.takeAll());
    }
    for (int one : last) {
      assertEquals(each, one);
    }
  }
}
