package io.trunkcall;

import io.trunkcall.internal.client.Chooser;
import io.trunkcall.internal.client.OutlierState;
import io.trunkcall.internal.client.Policies;
import io.trunkcall.internal.policy.Breaker;
import io.trunkcall.internal.policy.Budget;
import io.trunkcall.internal.policy.Holds;
import io.trunkcall.internal.policy.Sources;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * What a policy file says of a method, with its states; null: there is none. Budget, breaker,
 * outliers and chooser are a client's, and used on its loop.
 */
final class Rules {
  final String method;
  final Holds holds;
  final Sources sources;
  final Timers timers;
  final Budget budget;
  final @Nullable Breaker breaker;
  final @Nullable OutlierState outliers;
  final @Nullable Chooser chooser;
  final @Nullable RateState rate;
  final @Nullable ConcurrencyState concurrency;
  final @Nullable RateState serverRate;
  final @Nullable ConcurrencyState serverConcurrency;

  /** The same as policies of a program say it, of a unary method, and of a streaming one. */
  final Policies.Holding holding;

  final Policies.Holding streaming;

  Rules(
      String method,
      Holds holds,
      Sources sources,
      Timers timers,
      Budget budget,
      @Nullable Breaker breaker,
      @Nullable OutlierState outliers,
      @Nullable Chooser chooser,
      @Nullable RateState rate,
      @Nullable ConcurrencyState concurrency,
      @Nullable RateState serverRate,
      @Nullable ConcurrencyState serverConcurrency) {
    this.method = method;
    this.holds = holds;
    this.sources = sources;
    this.timers = timers;
    this.budget = budget;
    this.breaker = breaker;
    this.outliers = outliers;
    this.chooser = chooser;
    this.rate = rate;
    this.concurrency = concurrency;
    this.serverRate = serverRate;
    this.serverConcurrency = serverConcurrency;
    this.holding = holding(holds.timeout());
    this.streaming = holding(holds.streamTimeout());
  }

  private Policies.Holding holding(long timeout) {
    return new Policies.Holding(
        timeout == 0 ? null : Duration.ofNanos(timeout), holds.waitForReady(), !holds.once());
  }
}
