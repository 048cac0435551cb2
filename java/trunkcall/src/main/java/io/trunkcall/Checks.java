package io.trunkcall;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** Options are checked where they are given: the error names the option and what is wanted. */
final class Checks {
  private Checks() {}

  /** A timeout above zero, in µs. */
  static long timeoutMicros(String option, Duration given) {
    if (given.isZero() || given.isNegative()) {
      throw new IllegalArgumentException(
          "option " + option + ": " + given + " was given, want a time above 0");
    }
    return Math.max(micros(given), 1);
  }

  /** A time of at least zero, in µs. */
  static long micros(String option, Duration given) {
    if (given.isNegative()) {
      throw new IllegalArgumentException(
          "option " + option + ": " + given + " was given, want a time of at least 0");
    }
    return micros(given);
  }

  /** What does not fit is far beyond any deadline. */
  private static long micros(Duration given) {
    long most = Long.MAX_VALUE / 4_000_000;
    return given.getSeconds() >= most
        ? Long.MAX_VALUE / 4
        : given.getSeconds() * 1_000_000 + given.getNano() / 1_000;
  }

  static int count(String option, int given, int least) {
    return (int) range(option, given, least, Integer.MAX_VALUE);
  }

  static long range(String option, long given, long least, long most) {
    if (given < least || given > most) {
      String wanted =
          most >= Integer.MAX_VALUE
              ? String.format("at least %,d", least)
              : String.format("%,d to %,d", least, most);
      throw new IllegalArgumentException(
          String.format("option %s: %,d was given, want %s", option, given, wanted));
    }
    return given;
  }

  static <T> T given(String option, @Nullable T given) {
    if (given == null) {
      throw new NullPointerException("option " + option + ": null was given");
    }
    return given;
  }
}
