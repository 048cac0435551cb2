package io.trunkcall.internal.policy;

import static java.util.Locale.ROOT;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.trunkcall.Code;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The cores, as cases play them. */
final class PlayedCores {
  /** Carries out the steps of a case, and puts what it decides. */
  interface Core {
    void take(Step step, ObjectNode decision);
  }

  static final List<String> NAMES =
      List.of(
          "retries", "hedging", "breaker", "outliers", "rate", "concurrency", "zones", "faults");

  private PlayedCores() {}

  static Core begin(String name, PolicyFile file, Holds holds) {
    Budget budget = new Budget(file.budget());
    return switch (name) {
      case "retries" -> retries(budget, holds);
      case "hedging" -> hedging(budget, holds);
      case "breaker" -> breaker(holds.breaker());
      case "outliers" -> outliers(holds.outliers().rules());
      case "rate" -> rate(new Rate(holds.rate().rules()));
      case "concurrency" -> concurrency(new Concurrency(holds.concurrency().rules()));
      case "zones" -> zones(holds.zones());
      case "faults" -> faults(holds.faults());
      default -> throw new IllegalArgumentException("there is no core " + name);
    };
  }

  private static IllegalArgumentException unknown(Step step) {
    return new IllegalArgumentException("step " + step.number + ": no event " + step.event());
  }

  private static void budget(Budget budget, Step step, ObjectNode decision) {
    switch (step.event()) {
      case "made" -> budget.made(step.at(), step.number("calls"));
      case "take" -> decision.put("allowed", budget.take(step.at()));
      default -> throw unknown(step);
    }
  }

  private static Core retries(Budget budget, Holds holds) {
    Map<Integer, Retries> calls = new HashMap<>();
    return (step, decision) -> {
      switch (step.event()) {
        case "begin" ->
            calls.put(
                step.call(),
                new Retries(
                    holds.retries(), budget, holds.idempotent(), step.at(), step.deadline()));
        case "ended" -> {
          Retries.Decision decided =
              calls.get(step.call()).ended(step.at(), step.ended(), step::random);
          if (decided.end().isEmpty()) {
            decision.put("retry", decided.pause());
          } else {
            decision.put("end", decided.end());
          }
        }
        default -> budget(budget, step, decision);
      }
    };
  }

  private static Core hedging(Budget budget, Holds holds) {
    Map<Integer, Hedging> calls = new HashMap<>();
    return (step, decision) -> {
      switch (step.event()) {
        case "begin" -> {
          Hedging call = new Hedging(holds.hedging(), budget, step.at(), step.deadline());
          calls.put(step.call(), call);
          hedged(call.begun(), decision);
        }
        case "look" -> hedged(calls.get(step.call()).look(step.at()), decision);
        case "ended" ->
            hedged(
                calls.get(step.call()).ended(step.at(), (int) step.number("attempt"), step.ended()),
                decision);
        default -> budget(budget, step, decision);
      }
    };
  }

  private static void hedged(Hedging.Decision decided, ObjectNode decision) {
    if (decided.start() > 0) {
      decision.put("start", decided.start());
    }
    if (decided.look() >= 0) {
      decision.put("look", decided.look());
    }
    if (decided.finish() > 0) {
      decision.put("finish", decided.finish()).put("delivery", decided.delivery().word());
    }
  }

  private static Core breaker(BreakerRules rules) {
    Breaker breaker = new Breaker(rules);
    Map<Long, Long> numbers = new HashMap<>();
    return (step, decision) -> {
      switch (step.event()) {
        case "ask" -> {
          long number = breaker.ask(step.at());
          decision.put(number > 0 ? "number" : "after", Math.abs(number));
          numbers.put((long) step.number, Math.max(number, 0));
        }
        case "ended" ->
            breaker.ended(
                step.at(),
                numbers.getOrDefault(step.number("ask"), 0L),
                rules.trip().judged(step.ended()),
                step::random);
        default -> throw unknown(step);
      }
      decision.put("state", breaker.state().name().toLowerCase(ROOT));
    };
  }

  private static Core outliers(OutlierRules rules) {
    Outliers outliers = new Outliers(rules);
    return (step, decision) -> {
      switch (step.event()) {
        case "endpoints" -> {
          List<String> there = new ArrayList<>();
          step.list("endpoints").forEach(one -> there.add(one.asText()));
          outliers.endpoints(step.at(), there);
        }
        case "ended" -> {
          long until =
              outliers.ended(
                  step.at(),
                  step.text("endpoint"),
                  rules.trip().judged(step.ended()),
                  step::random);
          if (until >= 0) {
            decision.put("until", until);
          }
        }
        case "ejected" -> {
          ArrayNode ejected = decision.putArray("ejected");
          outliers.ejected(step.at()).forEach(ejected::add);
        }
        default -> throw unknown(step);
      }
    };
  }

  private static Core rate(Rate rate) {
    return (step, decision) -> {
      if (!step.event().equals("take")) {
        throw unknown(step);
      }
      long after = rate.take(step.at(), step.priority());
      decision.put("allowed", after == 0);
      if (after > 0) {
        decision.put("after", after);
      }
    };
  }

  private static Core concurrency(Concurrency concurrency) {
    int[] running = {0};
    return (step, decision) -> {
      switch (step.event()) {
        case "enter" -> {
          boolean allowed = concurrency.enter(step.at(), step.priority());
          running[0] += allowed ? 1 : 0;
          decision.put("allowed", allowed);
        }
        case "leave" -> {
          if (running[0] > 0) { // else nobody is there to leave
            running[0]--;
            concurrency.leave(
                step.at(), step.number("took"), Concurrency.Sample.of(step.ended()), step::random);
          }
          decision.put("limit", concurrency.limit());
        }
        default -> throw unknown(step);
      }
    };
  }

  private static Core zones(ZoneRules rules) {
    return (step, decision) -> {
      if (!step.event().equals("pick")) {
        throw unknown(step);
      }
      ZoneRules.There there =
          new ZoneRules.There(
              step.number("total"),
              step.number("available"),
              step.number("calls"),
              step.number("others"));
      decision.put("place", rules.pick(there, step::random).name().toLowerCase(ROOT));
    };
  }

  private static Core faults(List<FaultRules> faults) {
    return (step, decision) -> {
      if (!step.event().equals("draw")) {
        throw unknown(step);
      }
      FaultRules.Injected injected = FaultRules.inject(faults, step::random);
      decision.put("delay", injected.delay());
      if (injected.code() != Code.OK) {
        decision.put("code", injected.code().name()).put("name", injected.name());
      }
    };
  }
}
