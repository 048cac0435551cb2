package io.trunkcall.internal.policy;

import io.trunkcall.Priority;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What holds for a method (policy.md 4). Null, or 0 for a duration: nothing does.
 *
 * @param streamTimeout of a streaming method
 * @param once by {@code retries: none}
 */
public record Holds(
    long timeout,
    long streamTimeout,
    @Nullable Boolean waitForReady,
    boolean idempotent,
    @Nullable Priority priority,
    boolean once,
    @Nullable RetryRules retries,
    @Nullable HedgeRules hedging,
    @Nullable BreakerRules breaker,
    @Nullable Scoped<OutlierRules> outliers,
    @Nullable BalancerRules balancer,
    @Nullable ZoneRules zones,
    @Nullable Scoped<RateRules> rate,
    @Nullable Scoped<ConcurrencyRules> concurrency,
    @Nullable Scoped<RateRules> serverRate,
    @Nullable Scoped<ConcurrencyRules> serverConcurrency,
    List<FaultRules> faults) {

  /** What holds in the last of the scopes, of which the widest is the first. */
  static Holds in(List<Scope> scopes, boolean ofMethod) {
    Narrowest said = new Narrowest(scopes);
    int retriesAt = said.at("retries");
    int hedgingAt = said.at("hedging");
    @Nullable RetryRules retries = said.value("retries");
    @Nullable HedgeRules hedging = said.value("hedging");
    boolean both = retries != null && hedging != null;
    @Nullable List<FaultRules> faults = said.value("faults");
    @Nullable Boolean idempotent = said.value("idempotent");
    return new Holds(
        said.duration("timeout"),
        ofMethod ? scopes.get(scopes.size() - 1).said().number("timeout", 0) : 0,
        said.value("wait_for_ready"),
        idempotent != null && idempotent,
        said.value("priority"),
        retriesAt >= 0 && retries == null,
        both && hedgingAt > retriesAt ? null : retries,
        both && retriesAt > hedgingAt ? null : hedging,
        said.value("breaker"),
        said.scoped("outliers"),
        said.value("balancer"),
        said.value("zones"),
        said.scoped("rate"),
        said.scoped("concurrency"),
        said.scoped("server_rate"),
        said.scoped("server_concurrency"),
        faults == null ? List.of() : faults);
  }

  /** What the narrowest of the scopes says that has a field. */
  private record Narrowest(List<Scope> scopes) {
    /** Which of them it is; -1: none. */
    int at(String name) {
      int at = scopes.size() - 1;
      while (at >= 0 && !scopes.get(at).said().has(name)) {
        at--;
      }
      return at;
    }

    <T> @Nullable T value(String name) {
      int at = at(name);
      @Nullable T value = at < 0 ? null : scopes.get(at).said().value(name);
      return value == Said.NONE ? null : value;
    }

    long duration(String name) {
      @Nullable Long value = value(name);
      return value == null ? 0 : value;
    }

    <G> @Nullable Scoped<G> scoped(String name) {
      @Nullable G value = value(name);
      return value == null ? null : new Scoped<>(value, scopes.get(at(name)).path());
    }
  }
}
