package io.trunkcall.internal.policy;

import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Durations as files have them (policy.md 2.7). */
final class Durations {
  static final Pattern WHOLE = Pattern.compile("-?[0-9]{1,18}");

  private static final Pattern FORM =
      Pattern.compile("0*([0-9]{0,15})(?:\\.([0-9]{1,3}))?(ns|us|ms|s|m|h)");
  private static final Map<String, Long> UNITS =
      Map.of(
          "ns", 1L,
          "us", 1_000L,
          "ms", Numbers.MILLISECOND,
          "s", Numbers.SECOND,
          "m", Numbers.MINUTE,
          "h", Numbers.HOUR);

  private Durations() {}

  /** A duration of at most 24 h and less than an hour more, in nanoseconds; -1 if it is none. */
  static long parse(String text) {
    Matcher read = FORM.matcher(text);
    if (!read.matches() || !Texts.isDigit(text.charAt(0))) {
      return -1;
    }
    long unit = UNITS.getOrDefault(read.group(3), 0L);
    long count = Long.parseLong("0" + read.group(1));
    if (count > Numbers.LONGEST / unit) {
      return -1;
    }
    String fraction = read.group(2) == null ? "" : read.group(2);
    // In thousandths of the unit, so that it stays whole.
    long thousandths = Long.parseLong((fraction + "000").substring(0, 3)) * unit;
    return thousandths % 1_000 == 0 ? count * unit + thousandths / 1_000 : -1;
  }
}
