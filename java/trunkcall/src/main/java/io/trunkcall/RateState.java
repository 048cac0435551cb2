package io.trunkcall;

import io.trunkcall.internal.policy.Rate;
import io.trunkcall.internal.policy.RateRules;
import io.trunkcall.internal.policy.Sources;
import java.util.concurrent.locks.ReentrantLock;

/** How many calls begin in a time under the rules of one scope. Any thread. */
final class RateState {
  private final String scope;
  private final Sources sources;
  private final Rate core;
  private final ReentrantLock lock = new ReentrantLock(); // no other is taken under it

  /** {@code scope} is what texts name it. */
  RateState(String scope, RateRules rules, Sources sources) {
    this.scope = scope;
    this.sources = sources;
    this.core = new Rate(rules);
  }

  /** 0 if a call may begin, else how many nanoseconds to wait before one may. */
  long take(Priority priority) {
    lock.lock();
    try {
      return core.take(sources.now(), priority);
    } finally {
      lock.unlock();
    }
  }

  String usedUp() {
    return "rate of " + scope + " is used up";
  }
}
