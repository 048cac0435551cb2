package io.trunkcall.codefirst;

import java.math.BigInteger;

/** Whole numbers of up to 64 bits without a sign. */
final class Whole {
  static final BigInteger MOST = BigInteger.ONE.shiftLeft(64).subtract(BigInteger.ONE);

  private Whole() {}

  /** A number of 64 bits without a sign as Java's. */
  static BigInteger unsigned(long value) {
    return value >= 0 ? BigInteger.valueOf(value) : new BigInteger(Long.toUnsignedString(value));
  }

  /** The value of whatever type: a Long if that holds it, else a BigInteger. */
  static Object boxed(boolean negative, long magnitude) {
    if (negative) {
      return -magnitude;
    }
    if (magnitude >= 0) {
      return magnitude;
    }
    return unsigned(magnitude);
  }
}
