package io.trunkcall;

import io.trunkcall.internal.policy.Concurrency;
import io.trunkcall.internal.policy.ConcurrencyRules;
import io.trunkcall.internal.policy.Sources;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/** How many calls run at once under the rules of one scope. Any thread. */
final class ConcurrencyState {
  private final String scope;
  private final Sources sources;
  private final Concurrency core;
  private final ReentrantLock lock = new ReentrantLock(); // no other is taken under it

  /** {@code scope} is what texts name it. */
  ConcurrencyState(String scope, ConcurrencyRules rules, Sources sources) {
    this.scope = scope;
    this.sources = sources;
    this.core = new Concurrency(rules);
  }

  /** The place of a call among those that run; null: it may not. */
  @Nullable Place enter(Priority priority) {
    lock.lock();
    try {
      long now = sources.now();
      return core.enter(now, priority) ? new Place(now) : null;
    } finally {
      lock.unlock();
    }
  }

  String usedUp() {
    return "concurrency of " + scope + " is used up";
  }

  /** A call among those that run. It leaves once. */
  final class Place {
    private final long entered;

    private Place(long entered) {
      this.entered = entered;
    }

    void leave(Concurrency.Sample sample) {
      lock.lock();
      try {
        long now = sources.now();
        core.leave(now, now - entered, sample, sources.random());
      } finally {
        lock.unlock();
      }
    }
  }
}
