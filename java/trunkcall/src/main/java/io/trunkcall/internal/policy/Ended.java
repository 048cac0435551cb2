package io.trunkcall.internal.policy;

import io.trunkcall.Code;
import io.trunkcall.Delivery;

/**
 * How an attempt ended.
 *
 * @param retryAfter of one that was refused
 * @param lost the connection ended before a byte of the call was passed on
 * @param elsewhere another connection or endpoint can take the call
 * @param time what the call had when it began; 0: it has no deadline
 * @param left what was left of that when the attempt was given to its connection
 */
public record Ended(
    Code code,
    Delivery delivery,
    long retryAfter,
    boolean lost,
    boolean elsewhere,
    long time,
    long left) {
  /** Well. */
  public static final Ended OK = new Ended(Code.OK, Delivery.EXECUTED, 0, false, false);

  /** Of a call without a deadline, or where that makes no difference. */
  public Ended(Code code, Delivery delivery, long retryAfter, boolean lost, boolean elsewhere) {
    this(code, delivery, retryAfter, lost, elsewhere, 0, 0);
  }

  /** Whether it ran out of time, most of which had passed before it was sent (policy.md 10). */
  boolean isLate() {
    return code == Code.DEADLINE_EXCEEDED && left < time - left;
  }

  /** The same of a call that had so much time, and had so much left when it was sent. */
  public Ended within(long time, long left) {
    return new Ended(code, delivery, retryAfter, lost, elsewhere, time, left);
  }

  boolean isRefused() {
    return delivery == Delivery.REFUSED;
  }

  boolean isNotSent() {
    return delivery == Delivery.NOT_SENT;
  }

  /** The delivery that promises less. */
  static Delivery least(Delivery one, Delivery other) {
    return promise(one) <= promise(other) ? one : other;
  }

  private static int promise(Delivery delivery) {
    return switch (delivery) {
      case EXECUTED -> 0;
      case UNKNOWN -> 1;
      case REFUSED -> 2;
      case NOT_SENT -> 3;
    };
  }
}
