package io.trunkcall;

import io.trunkcall.internal.client.Chooser;
import io.trunkcall.internal.client.OutlierState;
import io.trunkcall.internal.policy.BalancerRules;
import io.trunkcall.internal.policy.Breaker;
import io.trunkcall.internal.policy.BreakerRules;
import io.trunkcall.internal.policy.Budget;
import io.trunkcall.internal.policy.ConcurrencyRules;
import io.trunkcall.internal.policy.Holds;
import io.trunkcall.internal.policy.OutlierRules;
import io.trunkcall.internal.policy.PolicyFile;
import io.trunkcall.internal.policy.RateRules;
import io.trunkcall.internal.policy.Scoped;
import io.trunkcall.internal.policy.Sources;
import io.trunkcall.internal.policy.ZoneRules;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * What one policy file says, with the states that are kept for it. When the file is exchanged there
 * is another one, which takes over the states whose scope and rules are the same (policy.md 5.6).
 * Any thread.
 */
final class Governance {
  private static final int REMEMBERED = 4_096; // methods that have rules of their own

  private final PolicyFile file;
  private final String zone;
  private final Sources sources;
  private final Timers timers;
  private final Budget budget;
  private final Map<String, Rules> known = new ConcurrentHashMap<>();

  private final ReentrantLock lock = new ReentrantLock(); // guards what follows
  private final Map<Key, Kept> states = new HashMap<>();
  private final Map<Placing, Chooser> choosers = new HashMap<>();

  /** Whose state it is: a kind of rules, and the scope or method that has them. */
  private record Key(String kind, String of) {}

  /** A state, and the rules that it is kept for. */
  private record Kept(Object rules, Object state) {}

  /** The states that scopes keep for all methods; null: none is kept. */
  private record Shared(
      @Nullable OutlierState outliers,
      @Nullable RateState rate,
      @Nullable ConcurrencyState concurrency,
      @Nullable RateState serverRate,
      @Nullable ConcurrencyState serverConcurrency) {}

  /** What chooses for a method; those that have the same share the pickers. */
  private record Placing(
      @Nullable OutlierState outliers,
      @Nullable ZoneRules zones,
      @Nullable BalancerRules balancer) {}

  /**
   * Has a file hold after another; null: none. {@code zone} is the client's, empty if it is not
   * known.
   */
  Governance(
      PolicyFile file, @Nullable Governance before, String zone, Sources sources, Timers timers) {
    this.file = file;
    this.zone = zone;
    this.sources = sources;
    this.timers = timers;
    if (before == null) {
      budget = new Budget(file.budget());
      return;
    }
    boolean same = before.file.budget().equals(file.budget());
    budget = same ? before.budget : new Budget(file.budget());
    before.lock.lock();
    try {
      Made made = new Made(before.states);
      file.each((line, path, holds) -> made.shared(holds));
      before.known.keySet().forEach(name -> known.put(name, made(name, true, made)));
    } finally {
      before.lock.unlock();
    }
  }

  /** What holds for a method by its name, {@code /package.Service/Method}. */
  Rules of(String method) {
    Rules found = known.get(method);
    if (found != null) {
      return found;
    }
    lock.lock();
    try {
      found = known.get(method);
      if (found == null) {
        boolean keeps = known.size() < REMEMBERED; // else a program makes names up
        found = made(method, keeps, new Made(Map.of()));
        if (keeps) {
          known.put(method, found);
        }
      }
      return found;
    } finally {
      lock.unlock();
    }
  }

  /** What says which endpoints are left out, by scope, in the order of the file. */
  Map<String, OutlierState> outliers() {
    Map<String, OutlierState> found = new LinkedHashMap<>();
    lock.lock();
    try {
      file.each(
          (line, path, holds) -> {
            Scoped<OutlierRules> said = holds.outliers();
            Kept kept = said == null ? null : states.get(new Key("outliers", said.scope()));
            if (said != null && kept != null) { // else no method has asked for it
              found.put(said.scope(), (OutlierState) kept.state);
            }
          });
    } finally {
      lock.unlock();
    }
    return found;
  }

  private Rules made(String name, boolean keeps, Made made) {
    int slash = name.lastIndexOf('/');
    Holds holds = file.holds(name.substring(1, slash), name.substring(slash + 1));
    Shared shared = made.shared(holds);
    BreakerRules breaker = keeps ? holds.breaker() : null;
    return new Rules(
        name,
        holds,
        sources,
        timers,
        budget,
        breaker == null ? null : made.state("breaker", name, breaker, () -> new Breaker(breaker)),
        shared.outliers,
        chooser(holds, shared.outliers),
        shared.rate,
        shared.concurrency,
        shared.serverRate,
        shared.serverConcurrency);
  }

  private @Nullable Chooser chooser(Holds holds, @Nullable OutlierState outliers) {
    Placing placing = new Placing(outliers, holds.zones(), holds.balancer());
    boolean plain = outliers == null && placing.zones == null && placing.balancer == null;
    if (plain && holds.hedging() == null) {
      return null;
    }
    return choosers.computeIfAbsent(
        placing, one -> new Chooser(one.outliers, one.zones, one.balancer, zone, sources));
  }

  /** Makes states, or finds them: in this file, or for the same rules in the one before. */
  private final class Made {
    private final Map<Key, Kept> earlier;

    Made(Map<Key, Kept> earlier) {
      this.earlier = earlier;
    }

    @SuppressWarnings("unchecked") // the kind says which it is
    <S> S state(String kind, String of, Object rules, Supplier<S> fresh) {
      Key key = new Key(kind, of);
      Kept kept = states.get(key);
      if (kept == null) {
        kept = earlier.get(key);
        if (kept == null || !kept.rules.equals(rules)) {
          kept = new Kept(rules, fresh.get());
        }
        states.put(key, kept);
      }
      return (S) kept.state;
    }

    Shared shared(Holds holds) {
      return new Shared(
          outliers(holds.outliers()),
          rate("rate", holds.rate()),
          concurrency("concurrency", holds.concurrency()),
          rate("server_rate", holds.serverRate()),
          concurrency("server_concurrency", holds.serverConcurrency()));
    }

    @Nullable OutlierState outliers(@Nullable Scoped<OutlierRules> said) {
      return said == null
          ? null
          : state(
              "outliers",
              said.scope(),
              said.rules(),
              () -> new OutlierState(said.rules(), sources));
    }

    @Nullable RateState rate(String kind, @Nullable Scoped<RateRules> said) {
      return said == null
          ? null
          : state(
              kind,
              said.scope(),
              said.rules(),
              () -> new RateState(named(kind, said.scope()), said.rules(), sources));
    }

    @Nullable ConcurrencyState concurrency(String kind, @Nullable Scoped<ConcurrencyRules> said) {
      return said == null
          ? null
          : state(
              kind,
              said.scope(),
              said.rules(),
              () -> new ConcurrencyState(named(kind, said.scope()), said.rules(), sources));
    }

    private static String named(String kind, String scope) {
      return kind.startsWith("server_") ? scope + " of the server" : scope;
    }
  }
}
