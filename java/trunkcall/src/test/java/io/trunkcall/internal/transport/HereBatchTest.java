package io.trunkcall.internal.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Handlers that a loop's own thread is to run, without a loop. */
class HereBatchTest {
  private static final int LEAST = 31; // calls that are handed over before any is run here

  private final HereBatch batch = new HereBatch();
  private final List<String> log = new ArrayList<>();
  private long takes; // ns that a handler says it took
  private boolean failing; // what is done behind handlers fails

  @BeforeEach
  void bePatient() {
    Turning.patient(true);
  }

  @AfterEach
  void beAsBefore() {
    Turning.patient(false);
  }

  private final class Call implements Here {
    private final String name;
    private final Runnable work;

    Call(String name, Runnable work) {
      this.name = name;
      this.work = work;
    }

    @Override
    public long runHere(long since) {
      log.add(name + " runs");
      work.run();
      return since + takes;
    }

    @Override
    public void ran() {
      log.add(name + " is answered");
      if (failing) {
        throw new OutOfMemoryError("of the test");
      }
    }

    @Override
    public void overran(boolean looked) {
      log.add(name + (looked ? " takes long" : " overran"));
    }

    @Override
    public void elsewhere() {
      log.add(name + " goes elsewhere");
      if (failing) {
        throw new OutOfMemoryError("of the test");
      }
    }
  }

  private boolean add(String name, Runnable work) {
    return batch.add(new Call(name, work), false);
  }

  private boolean add(String name) {
    return add(name, () -> {});
  }

  /** Calls come one upon the other. */
  private void comeDensely() {
    for (int i = 0; i < LEAST; i++) {
      assertFalse(add("early"));
    }
    batch.turn();
  }

  private void runAll() {
    batch.begin();
    batch.run();
    batch.end();
    batch.turn();
  }

  @Test
  void theyAreRunInOrderAndAnsweredBehindAllOfThem() {
    comeDensely();
    assertTrue(add("a"));
    assertTrue(add("b"));
    runAll();
    assertEquals(List.of("a runs", "b runs", "a is answered", "b is answered"), log);
    assertTrue(batch.isEmpty());
  }

  @Test
  void whoTakesTheLoopOverAnswersWhatIsDoneAndGivesAwayWhatHasNotBegun() {
    comeDensely();
    add("a");
    add("b", () -> batch.takeOver(true));
    add("c");
    runAll();
    assertEquals(
        List.of("a runs", "b runs", "a is answered", "c goes elsewhere", "b takes long"), log);
    assertTrue(batch.isEmpty());
  }

  @Test
  void whoTakesTheLoopOverBehindTheLastAnswersAll() {
    comeDensely();
    add("a");
    batch.begin();
    batch.run();
    batch.takeOver(true);
    batch.end();
    assertEquals(List.of("a runs", "a is answered"), log);
  }

  @Test
  void oneThatThrowsHarmsNobody() {
    comeDensely();
    add(
        "a",
        () -> {
          throw new AssertionError("thrown by a handler, for a test");
        });
    add("b");
    runAll();
    assertEquals(List.of("a runs", "b runs", "a is answered", "b is answered"), log);
  }

  @Test
  void whatFailsBehindOneIsDoneForTheOthers() {
    failing = true;
    comeDensely();
    add("a");
    add("b");
    runAll();
    add("c");
    add("d", () -> batch.takeOver(false));
    add("e");
    runAll();
    List<String> first = List.of("a runs", "b runs", "a is answered", "b is answered");
    List<String> then =
        List.of("c runs", "d runs", "c is answered", "e goes elsewhere", "d overran");
    assertEquals(Stream.concat(first.stream(), then.stream()).toList(), log);
  }

  @Test
  void anInterruptThatOneLeavesIsNotForTheNext() {
    comeDensely();
    add("a", () -> Thread.currentThread().interrupt());
    add("b", () -> log.add("interrupted: " + Thread.currentThread().isInterrupted()));
    runAll();
    assertTrue(log.contains("interrupted: false"), log::toString);
  }

  @Test
  void withoutAStandInAllGoElsewhere() {
    comeDensely();
    add("a");
    add("b");
    batch.giveAway();
    assertEquals(List.of("a goes elsewhere", "b goes elsewhere"), log);
    assertTrue(batch.isEmpty());
  }

  @Test
  void aCallThatComesAloneIsRunThoughFewCome() {
    assertTrue(batch.add(new Call("a", () -> {}), true));
    assertTrue(batch.isAlone());
    runAll();
    for (int i = 0; i < LEAST - 1; i++) { // it has counted as well
      assertFalse(add("early"));
    }
    assertTrue(add("b"));
    assertFalse(batch.isAlone());
  }

  @Test
  void callsThatComeSeldomAreHandedOver() {
    LoneCalls.apart = 0;
    for (int i = 0; i < 1_000; i++) {
      assertFalse(add("seldom"));
      batch.turn();
      long before = Clock.micros();
      while (Clock.micros() - before < 2) {
        Thread.onSpinWait();
      }
    }
  }

  @Test
  void asManyAreTakenAsAreOverSoon() {
    comeDensely();
    assertEquals(3, fill()); // of 30 µs, as long as nothing is known of them
    takes = 45_000;
    untilFilledBy(2);
    takes = 1_240;
    untilFilledBy(80);
    takes = 1_000_000;
    untilFilledBy(1); // however long they take
  }

  private void untilFilledBy(int calls) {
    int found = 0;
    for (int i = 0; i < 1_000 && found != calls; i++) {
      runAll();
      found = fill();
    }
    assertEquals(calls, found);
  }

  private int fill() {
    int calls = 0;
    while (add("call")) {
      calls++;
    }
    return calls;
  }
}
