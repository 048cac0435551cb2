package io.trunkcall.internal.policy;

import java.util.function.IntSupplier;

/**
 * When a client prefers endpoints of its zone (policy.md 14); {@code overflowCalls} 0: not said.
 */
public record ZoneRules(long healthy, long overflowCalls) {
  /** Where a call goes: to endpoints of any zone, of the client's own, of others. */
  public enum Place {
    ALL,
    OWN,
    OTHERS
  }

  /**
   * What there is to choose among: of the client's zone how many endpoints, how many of them
   * available, and how many calls are open there; how many endpoints are available elsewhere.
   */
  public record There(long total, long available, long calls, long others) {}

  /** Draws a number where too few endpoints of the own zone are available. */
  public Place pick(There there, IntSupplier random) {
    if (there.available == 0) {
      return Place.ALL;
    }
    if (there.others == 0) {
      return Place.OWN;
    }
    if (overflowCalls > 0 && there.calls >= overflowCalls * there.available) {
      return Place.OTHERS;
    }
    long wanted = healthy * there.total;
    long here = there.available * 100;
    return here >= wanted || Numbers.part(wanted, random) < here ? Place.OWN : Place.OTHERS;
  }
}
