package io.trunkcall.internal.policy;

import io.trunkcall.internal.policy.TripRules.Outcome;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntSupplier;

/** Decides which endpoints are left out (policy.md 11). It knows none at first. */
public final class Outliers {
  private final OutlierRules rules;
  private final Numbers.Latest clock = new Numbers.Latest();
  private Map<String, One> known = new LinkedHashMap<>(); // by identity, in order

  /** What is known of an endpoint. */
  private final class One {
    final Trip trip = new Trip(rules.trip());
    long until; // it was ejected; 0: never
    long times;
  }

  /** Made by rules. */
  public Outliers(OutlierRules rules) {
    this.rules = rules;
  }

  /** Tells which endpoints there are, by their identities, of which none comes twice. */
  public void endpoints(long now, List<String> identities) {
    clock.at(now);
    Map<String, One> there = new LinkedHashMap<>();
    for (String identity : identities) {
      One one = known.get(identity);
      there.put(identity, one == null ? new One() : one);
    }
    known = there;
  }

  /** The endpoints that are left out, in order. */
  public List<String> ejected(long time) {
    long now = clock.at(time);
    List<String> found = new ArrayList<>();
    known.forEach(
        (identity, one) -> {
          if (now < one.until) {
            found.add(identity);
          }
        });
    return found;
  }

  /**
   * Tells how an attempt at an endpoint ended. Until when it is ejected, if this ejects it, for
   * which a number is drawn; else -1.
   */
  public long ended(long time, String identity, Outcome outcome, IntSupplier random) {
    long now = clock.at(time);
    One one = known.get(identity);
    if (one == null || now < one.until || !one.trip.ended(now, outcome)) {
      return -1;
    }
    long all = known.size();
    long out = known.values().stream().filter(other -> now < other.until).count();
    if (out >= Math.max(1, all * rules.cap() / 100) || out >= all - 1) {
      return -1;
    }
    long back = one.times > 0 ? now - one.until : 0;
    one.times = Math.max(0, one.times - back / rules.eject()) + 1;
    // More times than this make no difference, and must not overflow.
    long times = Math.min(one.times, rules.maxEject() / rules.eject() + 1);
    long lasts = Math.min(rules.maxEject(), rules.eject() * times);
    one.until = now + lasts + Numbers.part(lasts / 5, random);
    one.trip.clear();
    return one.until;
  }
}
