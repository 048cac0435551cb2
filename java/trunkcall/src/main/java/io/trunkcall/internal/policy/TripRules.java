package io.trunkcall.internal.policy;

import io.trunkcall.Code;
import io.trunkcall.Delivery;

/** When failures are too many; 0: not said (policy.md 10). */
public record TripRules(long consecutive, long percent, long calls, long window, Codes codes) {
  /** What an end means for a breaker or an endpoint. */
  public enum Outcome {
    NEITHER,
    SUCCESS,
    FAILURE
  }

  /** What it means that an attempt ended so. */
  public Outcome judged(Ended end) {
    if (end.delivery() == Delivery.NOT_SENT || end.code() == Code.CANCELLED || end.isLate()) {
      return Outcome.NEITHER;
    }
    if (codes.has(end.code())) {
      return Outcome.FAILURE;
    }
    boolean refused = end.delivery() == Delivery.REFUSED && end.retryAfter() == 0;
    return refused ? Outcome.NEITHER : Outcome.SUCCESS;
  }
}
