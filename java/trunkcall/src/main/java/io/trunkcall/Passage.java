package io.trunkcall;

import io.trunkcall.internal.client.ClientEndpoint;
import io.trunkcall.internal.client.OutlierState;
import io.trunkcall.internal.policy.Breaker;
import io.trunkcall.internal.policy.BreakerRules;
import io.trunkcall.internal.policy.Ended;
import io.trunkcall.internal.policy.TripRules.Outcome;
import org.jspecify.annotations.Nullable;

/** An attempt that has passed the breaker of its method. It is told once. On the client's loop. */
final class Passage {
  private final Rules rules;
  private final long begun; // the call, in µs of Clock
  private final long number; // of the state in which the breaker allowed it

  /** Throws StatusException if the breaker does not allow it. */
  Passage(Rules rules, long begun, long now) {
    this.rules = rules;
    this.begun = begun;
    Breaker breaker = rules.breaker;
    this.number = breaker == null ? 0 : breaker.ask(now);
    if (number < 0) {
      throw Failures.local(
          Code.UNAVAILABLE, "breaker of " + rules.method + " is open", Delivery.NOT_SENT);
    }
  }

  /** The attempt could not be made. */
  void unmade() {
    Breaker breaker = rules.breaker;
    if (breaker != null) {
      breaker.ended(rules.sources.now(), number, Outcome.NEITHER, rules.sources.random());
    }
  }

  /**
   * How the attempt has ended, and where; {@code given} is when it was given to a connection, in µs
   * of Clock as {@code deadline}, 0: none.
   */
  void ended(Status status, @Nullable ClientEndpoint at, long given, long deadline) {
    Ended end = status.ok() ? Ended.OK : GovernedCall.ended(status, false, false);
    if (deadline != 0 && !status.ok()) {
      end = end.within((deadline - begun) * 1_000, (deadline - given) * 1_000);
    }
    Breaker breaker = rules.breaker;
    BreakerRules said = rules.holds.breaker();
    if (breaker != null && said != null) {
      Outcome outcome = said.trip().judged(end);
      breaker.ended(rules.sources.now(), number, outcome, rules.sources.random());
    }
    OutlierState outliers = rules.outliers;
    if (outliers != null && at != null) {
      outliers.ended(at, end);
    }
  }
}
