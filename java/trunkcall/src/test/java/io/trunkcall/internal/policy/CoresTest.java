package io.trunkcall.internal.policy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.trunkcall.Code;
import io.trunkcall.Delivery;
import io.trunkcall.Priority;
import io.trunkcall.internal.policy.TripRules.Outcome;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.Consumer;
import java.util.function.IntSupplier;
import org.junit.jupiter.api.Test;

/**
 * Laws of the cores that hold whatever happens. Where the cases of spec/vectors/policy show single
 * steps, these play many.
 */
final class CoresTest {
  private static final Codes ALL = new Codes((1 << 17) - 1);
  private static final Codes UNAVAILABLE = Codes.of(Code.UNAVAILABLE);

  private static final List<Ended> ENDINGS =
      List.of(
          new Ended(Code.OK, Delivery.EXECUTED, 0, false, false),
          new Ended(Code.UNAVAILABLE, Delivery.UNKNOWN, 0, false, false),
          new Ended(Code.NOT_FOUND, Delivery.EXECUTED, 0, false, false),
          new Ended(Code.UNAVAILABLE, Delivery.NOT_SENT, 0, true, false),
          new Ended(Code.RESOURCE_EXHAUSTED, Delivery.REFUSED, 1_000_000, false, false),
          new Ended(Code.CANCELLED, Delivery.UNKNOWN, 0, false, false),
          new Ended(Code.UNAVAILABLE, Delivery.REFUSED, 0, false, true));

  private static Ended ending(Random random) {
    return ENDINGS.get(random.nextInt(ENDINGS.size()));
  }

  private static void seeded(int plays, Consumer<Random> play) {
    for (int seed = 0; seed < plays; seed++) {
      try {
        play.accept(new Random(seed));
      } catch (AssertionError failed) {
        throw new AssertionError("seed " + seed, failed);
      }
    }
  }

  @Test
  void aBudgetBoundsRetriesAndHedges() {
    seeded(100, CoresTest::boundsRetriesAndHedges);
  }

  private static void boundsRetriesAndHedges(Random random) {
    BudgetRules rules = new BudgetRules(random.nextInt(101), random.nextInt(3));
    Budget budget = new Budget(rules);
    RetryRules retries = new RetryRules(10, 1, 1, 100, 0, ALL);
    HedgeRules hedges = new HedgeRules(1_000_000, 5, Codes.of(Code.NOT_FOUND));
    long repeated = 0;
    long now = 0;
    for (int calls = 1; calls <= 300; calls++) {
      if (random.nextBoolean()) {
        Retries call = new Retries(retries, budget, true, now, -1);
        int attempts = 1;
        while (call.ended(now, ending(random), random::nextInt).end().isEmpty()) {
          attempts++;
        }
        assertTrue(attempts <= 10);
        repeated += attempts - 1;
      } else {
        Hedging call = new Hedging(hedges, budget, now, -1);
        for (int looks = 0; looks < 10; looks++) {
          now += random.nextInt(1_000_000);
          repeated += call.look(now).start() > 0 ? 1 : 0;
        }
      }
    }
    // All of it in one window: 3,000 ms at most.
    assertTrue(
        repeated <= Math.max(10 * rules.least(), 300 * rules.percent() / 100), "" + repeated);
  }

  @Test
  void aHedgedCallEndsOnce() {
    seeded(300, CoresTest::endsOnce);
  }

  private static void endsOnce(Random random) {
    HedgeRules rules =
        new HedgeRules(1 + random.nextInt(20), 2 + random.nextInt(4), Codes.of(Code.NOT_FOUND));
    long deadline = random.nextInt(100) - 1;
    Budget budget = new Budget(new BudgetRules(100, random.nextInt(2)));
    Hedging call = new Hedging(rules, budget, 0, deadline);
    Hedging.Decision decided = call.begun();
    BitSet running = new BitSet();
    running.set(1);
    int finished = 0;
    long now = 0;
    while (!running.isEmpty() || (decided.look() >= 0 && finished == 0)) {
      now = running.isEmpty() ? Math.max(now + 1, decided.look()) : now + 1;
      int attempt = 1 + random.nextInt(5);
      if (running.get(attempt) && random.nextInt(3) == 0) {
        running.clear(attempt);
        decided = call.ended(now, attempt, ending(random));
      } else {
        decided = call.look(now);
      }
      if (decided.start() > 0) {
        assertTrue((deadline < 0 || now < deadline) && finished == 0);
        running.set(decided.start());
      }
      finished += decided.finish() > 0 ? 1 : 0;
    }
    assertEquals(1, finished);
  }

  @Test
  void aBreakerAlwaysLetsSomebodyTry() {
    seeded(200, CoresTest::letsSomebodyTry);
  }

  private static void letsSomebodyTry(Random random) {
    BreakerRules rules =
        new BreakerRules(
            new TripRules(
                1 + random.nextInt(5), random.nextInt(101), 5, Numbers.SECOND, UNAVAILABLE),
            1 + random.nextInt(1_000_000_000),
            1 + random.nextInt(3));
    Breaker breaker = new Breaker(rules);
    Map<Long, Long> probes = new HashMap<>(); // by state, less those that said nothing
    Deque<Long> allowed = new ArrayDeque<>();
    long now = 0;
    for (int steps = 0; steps < 500; steps++) {
      long number = breaker.ask(now);
      if (number < 0) {
        assertTrue(-number <= rules.open() + rules.open() / 5);
        now -= number;
        number = breaker.ask(now);
        assertTrue(number > 0, "refused again");
      }
      if (breaker.state() == Breaker.State.HALF_OPEN) {
        assertTrue(probes.merge(number, 1L, Long::sum) <= rules.probes());
      }
      if (random.nextInt(4) > 0) { // some ends are never told
        allowed.add(number);
      }
      if (!allowed.isEmpty() && random.nextBoolean()) {
        Outcome outcome = Outcome.values()[random.nextInt(3)];
        long ended = allowed.remove();
        if (outcome == Outcome.NEITHER) {
          probes.merge(ended, -1L, Long::sum);
        }
        breaker.ended(now, ended, outcome, random::nextInt);
      }
    }
  }

  @Test
  void outliersStayBelowTheirCap() {
    seeded(200, CoresTest::stayBelowTheirCap);
  }

  private static void stayBelowTheirCap(Random random) {
    TripRules trip = new TripRules(1 + random.nextInt(3), 0, 20, Numbers.SECOND, UNAVAILABLE);
    OutlierRules rules =
        new OutlierRules(trip, Numbers.SECOND, 24 * Numbers.HOUR, 1 + random.nextInt(100));
    Outliers outliers = new Outliers(rules);
    List<String> all = List.of("a", "b", "c", "d", "e", "f").subList(0, 1 + random.nextInt(6));
    outliers.endpoints(0, all);
    long now = 0;
    for (int steps = 0; steps < 1_000; steps++) {
      now += random.nextInt(1_000_000_000);
      String one = all.get(random.nextInt(all.size()));
      Outcome outcome = Outcome.values()[random.nextInt(3)];
      long until = outliers.ended(now, one, outcome, random::nextInt);
      assertTrue(
          until < 0 || (until >= now + Numbers.SECOND && until <= now + 24 * Numbers.HOUR / 5 * 6));
      int ejected = outliers.ejected(now).size();
      assertTrue(ejected <= Math.max(1, all.size() * rules.cap() / 100) && ejected < all.size());
    }
  }

  @Test
  void aRateIsKept() {
    seeded(200, CoresTest::rateIsKept);
  }

  private static void rateIsKept(Random random) {
    RateRules rules =
        new RateRules(1 + random.nextInt(1_000_000), 1 + random.nextInt(1_000), Shares.DEFAULT);
    Rate rate = new Rate(rules);
    long now = 0;
    long taken = 0;
    for (int steps = 0; steps < 2_000; steps++) {
      taken += rate.take(now, Priority.values()[random.nextInt(4)]) == 0 ? 1 : 0;
      long most = rules.burst() + now / (Numbers.SECOND / rules.perSecond()) + 1;
      assertTrue(taken <= most, taken + " calls in " + now);
      now += (long) (random.nextDouble() * 2 * Numbers.SECOND) / rules.perSecond();
    }
  }

  /** A server works on so many calls at a time, for 10 ms on each. Others wait in its queue. */
  @Test
  void anAdaptiveLimitFindsWhatAServerCanDo() {
    int workers = 8;
    long work = 10 * Numbers.MILLISECOND;
    Concurrency limit =
        new Concurrency(
            new ConcurrencyRules(
                0,
                new ConcurrencyRules.Adaptive(
                    1, 1_000, 20, 20, 100 * Numbers.MILLISECOND, 150, 10 * Numbers.SECOND),
                Shares.DEFAULT));
    IntSupplier random = new Random(1)::nextInt;
    Deque<long[]> running = new ArrayDeque<>(); // when each began, and ends
    List<Long> free = new ArrayList<>();
    for (int worker = 0; worker < workers; worker++) {
      free.add(0L);
    }
    int most = 0;
    for (long now = 0; now < 120 * Numbers.SECOND; now += Numbers.MILLISECOND) {
      while (!running.isEmpty() && running.peek()[1] <= now) {
        limit.leave(now, now - running.remove()[0], Concurrency.Sample.MEASURED, random);
      }
      while (limit.enter(now, Priority.NORMAL)) { // there are always more callers
        free.sort(null);
        long ends = Math.max(free.remove(0), now) + work;
        free.add(ends);
        running.add(new long[] {now, ends});
      }
      most = now > 30 * Numbers.SECOND ? Math.max(most, running.size()) : 0;
    }
    assertTrue(most >= workers && most <= 5 * workers, most + " calls at once");
  }
}
