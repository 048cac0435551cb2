package io.trunkcall;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class HandoverTest {
  private static final class Number extends Handover.Node<Number> {
    final int value;

    Number(int value) {
      super(10);
      this.value = value;
    }
  }

  private static List<Integer> taken(Handover<Number> from) {
    List<Integer> all = new ArrayList<>();
    for (Number one = from.takeAll(); one != null; one = one.next) {
      all.add(one.value);
    }
    return all;
  }

  @Test
  void whatIsAddedIsTakenInOrderAtOnce() {
    Handover<Number> handover = new Handover<>();
    assertTrue(handover.isEmpty());
    assertNull(handover.takeAll());
    assertTrue(handover.add(new Number(1)));
    assertFalse(handover.add(new Number(2)));
    assertFalse(handover.add(new Number(3)));
    assertEquals(30, handover.size());
    assertEquals(List.of(1, 2, 3), taken(handover));
    assertEquals(0, handover.size());
    assertTrue(handover.add(new Number(4)));
    assertEquals(10, handover.size());
    assertEquals(List.of(4), taken(handover));
  }

  @Test
  void theSizeOfWhatWasTakenIsKnown() {
    Handover<Number> handover = new Handover<>();
    handover.add(new Number(1));
    handover.add(new Number(2));
    Number oldest = handover.takeAll();
    handover.add(new Number(3));
    assertEquals(20, handover.sizeFrom(oldest));
  }

  @Test
  void nothingIsLostThatSeveralThreadsAdd() throws Exception {
    Handover<Number> handover = new Handover<>();
    int each = 20_000;
    List<Thread> threads = new ArrayList<>();
    for (int first = 0; first < 3; first++) {
      int from = first * each;
      threads.add(
          new Thread(
              () -> {
                for (int i = 0; i < each; i++) {
                  handover.add(new Number(from + i));
                }
              }));
    }
    threads.forEach(Thread::start);
    int[] seen = {-1, each - 1, 2 * each - 1};
    int count = 0;
    while (count < 3 * each) {
      boolean alive = threads.stream().anyMatch(Thread::isAlive);
      for (int one : taken(handover)) {
        assertEquals(seen[one / each] + 1, one, "of one thread, in order");
        seen[one / each] = one;
        count++;
      }
      assertTrue(alive || count == 3 * each, "all were added, and " + count + " taken");
    }
  }
}
