package io.trunkcall.codefirst;

import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneOffset;

/** Times and durations: their ranges, and their forms in JSON (code-first.md 3.1, 3.2). */
final class Times {
  /** The zero of times. */
  static final Instant FIRST = Instant.parse("0001-01-01T00:00:00Z");

  private static final long EARLIEST = FIRST.getEpochSecond();
  private static final long LATEST = Instant.parse("9999-12-31T23:59:59Z").getEpochSecond();
  private static final int BILLION = 1_000_000_000;

  private Times() {}

  static Instant check(Instant time) {
    if (time.getEpochSecond() < EARLIEST || time.getEpochSecond() > LATEST) {
      throw range();
    }
    return time;
  }

  static Instant of(long seconds, long nanoseconds) {
    if (seconds < EARLIEST || seconds > LATEST || nanoseconds < 0 || nanoseconds >= BILLION) {
      throw range();
    }
    return Instant.ofEpochSecond(seconds, nanoseconds);
  }

  private static ValueException range() {
    return ValueException.unwanted("a time of the years 1 to 9999", "another");
  }

  static long nanoseconds(Duration duration) {
    try {
      return duration.toNanos();
    } catch (ArithmeticException e) {
      throw ValueException.unwanted("a duration of 64 bits of nanoseconds", "one out of range");
    }
  }

  /** A time as RFC 3339 has it, in UTC. */
  static String format(Instant time) {
    LocalDateTime utc = LocalDateTime.ofInstant(check(time), ZoneOffset.UTC);
    StringBuilder text = new StringBuilder(30);
    digits(text, utc.getYear(), 1000);
    digits(text.append('-'), utc.getMonthValue(), 10);
    digits(text.append('-'), utc.getDayOfMonth(), 10);
    digits(text.append('T'), utc.getHour(), 10);
    digits(text.append(':'), utc.getMinute(), 10);
    digits(text.append(':'), utc.getSecond(), 10);
    fraction(text, utc.getNano());
    return text.append('Z').toString();
  }

  static String format(long nanoseconds) {
    StringBuilder text = new StringBuilder(24);
    if (nanoseconds < 0) {
      text.append('-');
    }
    // Of the least of all durations there is no positive one: the parts are made so one by one.
    text.append(Math.abs(nanoseconds / BILLION));
    fraction(text, (int) Math.abs(nanoseconds % BILLION));
    return text.append('s').toString();
  }

  private static void digits(StringBuilder text, int value, int first) {
    for (int unit = first; unit > 0; unit /= 10) {
      text.append((char) ('0' + value / unit % 10));
    }
  }

  /** Appends a fraction of a second, without the zeros at its end. */
  private static void fraction(StringBuilder text, int nanoseconds) {
    if (nanoseconds == 0) {
      return;
    }
    digits(text.append('.'), nanoseconds, BILLION / 10);
    int end = text.length();
    while (text.charAt(end - 1) == '0') {
      end--;
    }
    text.setLength(end);
  }

  static Instant parseTime(String text) {
    Text in = new Text(text);
    try {
      int year = in.digits(4);
      int month = in.behind('-').digits(2);
      int day = in.behind('-').digits(2);
      int hour = in.behind('T', 't').digits(2);
      int minute = in.behind(':').digits(2);
      int second = in.behind(':').digits(2);
      int nanoseconds = in.fraction();
      int offset = in.offset();
      in.end();
      LocalDateTime local = LocalDateTime.of(year, month, day, hour, minute, second, nanoseconds);
      return of(local.toEpochSecond(ZoneOffset.UTC) - offset, nanoseconds);
    } catch (DateTimeException e) {
      throw ValueException.unwanted("a time such as 2026-01-02T03:04:05Z", "other text");
    }
  }

  static long parseDuration(String text) {
    Text in = new Text(text);
    try {
      boolean negative = in.take('-');
      long seconds = in.seconds();
      int nanoseconds = in.fraction();
      in.behind('s').end();
      // Counted downwards, where there is one more.
      long below = Math.subtractExact(Math.multiplyExact(-seconds, BILLION), nanoseconds);
      return negative ? below : Math.negateExact(below);
    } catch (DateTimeException e) {
      throw ValueException.unwanted("a duration such as 1.5s", "other text");
    } catch (ArithmeticException e) {
      throw ValueException.unwanted("a duration of 64 bits of nanoseconds", "one out of range");
    }
  }

  /** A text that is read from its beginning; what is not there throws a DateTimeException. */
  private static final class Text {
    private final String text;
    private int at;

    Text(String text) {
      this.text = text;
    }

    private char next() {
      return at < text.length() ? text.charAt(at) : 0;
    }

    private boolean isDigit() {
      return '0' <= next() && next() <= '9';
    }

    boolean take(char wanted) {
      boolean there = next() == wanted;
      at += there ? 1 : 0;
      return there;
    }

    Text behind(char... wanted) {
      for (char c : wanted) {
        if (take(c)) {
          return this;
        }
      }
      throw new DateTimeException("other text");
    }

    int digits(int count) {
      int value = 0;
      for (int i = 0; i < count; i++) {
        value = 10 * value + digit();
      }
      return value;
    }

    private int digit() {
      if (!isDigit()) {
        throw new DateTimeException("no digit");
      }
      return text.charAt(at++) - '0';
    }

    /** Whole seconds, without zeros in front. */
    long seconds() {
      int begin = at;
      long value = digit();
      while (isDigit()) {
        value = Math.addExact(Math.multiplyExact(value, 10L), digit());
      }
      if (at > begin + 1 && text.charAt(begin) == '0') {
        throw new DateTimeException("a zero in front");
      }
      return value;
    }

    /** The nanoseconds of up to nine digits behind a point, or 0 if there is none. */
    int fraction() {
      if (!take('.')) {
        return 0;
      }
      int value = digit();
      int count = 1;
      for (; isDigit() && count < 9; count++) {
        value = 10 * value + digit();
      }
      for (; count < 9; count++) {
        value *= 10;
      }
      return value;
    }

    /** Seconds east of UTC. */
    int offset() {
      if (take('Z') || take('z')) {
        return 0;
      }
      boolean west = next() == '-';
      behind('+', '-');
      int hours = digits(2);
      int minutes = behind(':').digits(2);
      if (hours > 23 || minutes > 59) {
        throw new DateTimeException("no offset");
      }
      int seconds = (60 * hours + minutes) * 60;
      return west ? -seconds : seconds;
    }

    void end() {
      if (at < text.length()) {
        throw new DateTimeException("more text");
      }
    }
  }
}
