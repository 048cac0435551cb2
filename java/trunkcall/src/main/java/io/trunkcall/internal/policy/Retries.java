package io.trunkcall.internal.policy;

import io.trunkcall.Code;
import io.trunkcall.Delivery;
import java.util.function.IntSupplier;

/** Decides about the attempts of one call, of which the first is made (policy.md 8). */
public final class Retries {
  private final RetryRules rules;
  private final boolean idempotent;
  private final Budget budget;
  private final long deadline;
  private final Numbers.Latest clock = new Numbers.Latest();
  private long attempts = 1;
  private long step;

  /**
   * Either a pause, after which the next attempt is made, or why the call ends; then the pause is
   * -1.
   */
  public record Decision(long pause, String end) {
    static Decision end(String why) {
      return new Decision(-1, why);
    }
  }

  /** Begins a call. A deadline below 0 is none. */
  public Retries(RetryRules rules, Budget budget, boolean idempotent, long now, long deadline) {
    this.rules = rules;
    this.idempotent = idempotent;
    this.budget = budget;
    this.deadline = deadline < 0 ? Long.MAX_VALUE : deadline;
    clock.at(now);
    budget.made(now, 1);
  }

  /** Decides about the attempt that has ended. Draws at most one number. */
  public Decision ended(long time, Ended end, IntSupplier random) {
    long now = clock.at(time);
    String why = last(end);
    if (!why.isEmpty()) {
      return Decision.end(why);
    }
    climb();
    boolean atOnce =
        end.isNotSent() || (end.isRefused() && end.code() == Code.UNAVAILABLE && end.elsewhere());
    long pause = 0;
    if (attempts > 1 || !atOnce) {
      pause = step - Numbers.part(step * rules.jitter() / 100, random);
      pause = end.isRefused() ? Math.max(pause, end.retryAfter()) : pause;
    }
    if (now >= deadline || pause >= deadline - now) {
      return Decision.end("time");
    }
    if (!budget.take(now)) {
      return Decision.end("budget");
    }
    attempts++;
    return new Decision(pause, "");
  }

  /** Why no attempt may follow, whatever time and budget allow; empty if one may. */
  private String last(Ended end) {
    if (end.code() == Code.OK) {
      return "ok";
    }
    if (attempts >= rules.attempts()) {
      return "attempts";
    }
    if (end.isNotSent()) {
      return end.lost() ? "" : "not_sent";
    }
    if (end.isRefused() && end.retryAfter() <= 0) {
      return "refused";
    }
    if (!end.isRefused() && !idempotent) {
      return end.delivery() == Delivery.EXECUTED ? "executed" : "unknown";
    }
    if (!rules.codes().has(end.code())) {
      return "code";
    }
    return end.isRefused() && end.retryAfter() > rules.maxBackoff() ? "retry_after" : "";
  }

  /** Goes to the pause of the next repetition (policy.md 8.2). */
  private void climb() {
    step =
        step == 0 ? rules.backoff() : Math.min(rules.maxBackoff(), step * rules.multiplier() / 100);
  }
}
