package io.trunkcall.internal.policy;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.trunkcall.Priority;

/**
 * Tells what holds for a method as the vectors have it: fields by their names in files, durations
 * in nanoseconds.
 */
final class Telling {
  private Telling() {}

  static ObjectNode holds(Holds holds) {
    ObjectNode told = PolicyPlay.JSON.createObjectNode();
    number(told, "timeout", holds.timeout());
    number(told, "stream_timeout", holds.streamTimeout());
    if (holds.waitForReady() != null) {
      told.put("wait_for_ready", holds.waitForReady());
    }
    if (holds.idempotent()) {
      told.put("idempotent", true);
    }
    if (holds.priority() != null) {
      told.put("priority", holds.priority().word());
    }
    attempts(told, holds);
    BreakerRules breaker = holds.breaker();
    if (breaker != null) {
      trip(told.putObject("breaker"), breaker.trip())
          .put("open", breaker.open())
          .put("probes", breaker.probes());
    }
    Scoped<OutlierRules> outliers = holds.outliers();
    if (outliers != null) {
      trip(told.putObject("outliers"), outliers.rules().trip())
          .put("scope", outliers.scope())
          .put("eject", outliers.rules().eject())
          .put("max_eject", outliers.rules().maxEject())
          .put("cap", outliers.rules().cap());
    }
    BalancerRules balancer = holds.balancer();
    if (balancer != null) {
      told.putObject("balancer").put("name", balancer.name()).put("key", balancer.key());
    }
    ZoneRules zones = holds.zones();
    if (zones != null) {
      told.putObject("zones")
          .put("healthy", zones.healthy())
          .put("overflow_calls", zones.overflowCalls());
    }
    rate(told, "rate", holds.rate());
    rate(told, "server_rate", holds.serverRate());
    concurrency(told, "concurrency", holds.concurrency());
    concurrency(told, "server_concurrency", holds.serverConcurrency());
    if (!holds.faults().isEmpty()) {
      ArrayNode faults = told.putArray("faults");
      for (FaultRules fault : holds.faults()) {
        faults
            .addObject()
            .put("name", fault.name())
            .put("per_million", fault.perMillion())
            .put("delay", fault.delay())
            .put("code", fault.code().name());
      }
    }
    return told;
  }

  private static void number(ObjectNode told, String name, long value) {
    if (value > 0) {
      told.put(name, value);
    }
  }

  private static void attempts(ObjectNode told, Holds holds) {
    RetryRules retries = holds.retries();
    if (holds.once()) {
      told.put("retries", "none");
    } else if (retries != null) {
      ObjectNode one =
          told.putObject("retries")
              .put("attempts", retries.attempts())
              .put("backoff", retries.backoff())
              .put("max_backoff", retries.maxBackoff())
              .put("multiplier", retries.multiplier())
              .put("jitter", retries.jitter());
      codes(one, "codes", retries.codes());
    }
    HedgeRules hedging = holds.hedging();
    if (hedging != null) {
      ObjectNode one =
          told.putObject("hedging")
              .put("delay", hedging.delay())
              .put("attempts", hedging.attempts());
      codes(one, "stop", hedging.stop());
    }
  }

  private static void codes(ObjectNode told, String name, Codes codes) {
    ArrayNode names = told.putArray(name);
    codes.all().forEach(code -> names.add(code.name()));
  }

  private static ObjectNode trip(ObjectNode told, TripRules rules) {
    codes(told, "codes", rules.codes());
    number(told, "consecutive", rules.consecutive());
    if (rules.percent() > 0) {
      told.put("percent", rules.percent())
          .put("calls", rules.calls())
          .put("window", rules.window());
    }
    return told;
  }

  private static ObjectNode shares(ObjectNode told, String scope, Shares shares) {
    told.put("scope", scope);
    ObjectNode percents = told.putObject("shares");
    for (Priority priority : Priority.values()) {
      percents.put(priority.word(), shares.percent(priority));
    }
    return told;
  }

  private static void rate(ObjectNode told, String name, Scoped<RateRules> rate) {
    if (rate != null) {
      shares(told.putObject(name), rate.scope(), rate.rules().shares())
          .put("per_second", rate.rules().perSecond())
          .put("burst", rate.rules().burst());
    }
  }

  private static void concurrency(ObjectNode told, String name, Scoped<ConcurrencyRules> at) {
    if (at == null) {
      return;
    }
    ObjectNode one = shares(told.putObject(name), at.scope(), at.rules().shares());
    ConcurrencyRules.Adaptive adaptive = at.rules().adaptive();
    if (adaptive == null) {
      one.put("limit", at.rules().limit());
      return;
    }
    one.putObject("adaptive")
        .put("least", adaptive.least())
        .put("most", adaptive.most())
        .put("start", adaptive.start())
        .put("samples", adaptive.samples())
        .put("window", adaptive.window())
        .put("tolerance", adaptive.tolerance())
        .put("remeasure", adaptive.remeasure());
  }
}
