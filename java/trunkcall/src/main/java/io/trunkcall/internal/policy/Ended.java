package io.trunkcall.internal.policy;

import io.trunkcall.Code;
import io.trunkcall.Delivery;

/**
 * How an attempt ended.
 *
 * @param retryAfter of one that was refused
 * @param lost the connection ended before a byte of the call was passed on
 * @param elsewhere another connection or endpoint can take the call
 */
public record Ended(
    Code code, Delivery delivery, long retryAfter, boolean lost, boolean elsewhere) {
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
