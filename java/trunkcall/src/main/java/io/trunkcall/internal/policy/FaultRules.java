package io.trunkcall.internal.policy;

import io.trunkcall.Code;
import java.util.List;
import java.util.function.IntSupplier;

/** A fault for drills (policy.md 15); without a code it has OK. */
public record FaultRules(String name, long perMillion, long delay, Code code) {
  private static final long MILLION = 1_000_000;

  /**
   * What faults do to a call: it waits, and then ends with a code and the name of a fault, or,
   * where that is OK, goes on.
   */
  public record Injected(long delay, Code code, String name) {}

  /** Draws the faults of a call, which are in the order of their names. */
  public static Injected inject(List<FaultRules> faults, IntSupplier random) {
    long delay = 0;
    for (FaultRules fault : faults) {
      if (Numbers.part(MILLION, random) >= fault.perMillion) {
        continue;
      }
      delay += fault.delay;
      if (fault.code != Code.OK) {
        return new Injected(delay, fault.code, fault.name);
      }
    }
    return new Injected(delay, Code.OK, "");
  }
}
