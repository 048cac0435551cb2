package io.trunkcall;

import io.trunkcall.internal.transport.Clock;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * What is logged because of what the other sides do: bounded, so that a flood of calls is none of
 * records, and with their texts escaped. No more than {@link #RATE} records with one message are
 * written within a second; the next one says how many were left out.
 */
final class Journal {
  static final System.Logger LOGGER = System.getLogger("io.trunkcall");

  private static final int RATE = 100;
  private static final int LOGGED = 1_024;

  private final ConcurrentHashMap<String, Count> counts = new ConcurrentHashMap<>();

  private static final class Count {
    long second;
    int written;
    int leftOut;
  }

  /** Writes a record: {@code message}, which is always the same, and {@code words} behind it. */
  void log(System.Logger.Level level, String message, String words, @Nullable Throwable error) {
    if (!LOGGER.isLoggable(level)) {
      return;
    }
    int before = admitted(level + message);
    if (before < 0) {
      return;
    }
    String more = before == 0 ? "" : " (" + before + " like this were left out)";
    String text = message + ": " + printable(words) + more;
    if (error == null) {
      LOGGER.log(level, text);
    } else {
      LOGGER.log(level, text, error);
    }
  }

  /** How many were left out before this one; -1: this one is. */
  private int admitted(String key) {
    Count count = counts.computeIfAbsent(key, one -> new Count());
    synchronized (count) {
      long second = Clock.micros() / 1_000_000;
      if (count.second != second) {
        count.second = second;
        count.written = 0;
      }
      if (count.written == RATE) {
        count.leftOut++;
        return -1;
      }
      count.written++;
      int before = count.leftOut;
      count.leftOut = 0;
      return before;
    }
  }

  /** The text with what is not printable escaped: line ends, and what terminals obey. */
  static String printable(String text) {
    StringBuilder made = new StringBuilder(Math.min(text.length(), LOGGED));
    for (int at = 0; at < text.length() && at < LOGGED; at++) {
      char one = text.charAt(at);
      if (Character.isISOControl(one) || Character.getType(one) == Character.FORMAT) {
        made.append(String.format("\\u%04x", (int) one));
      } else {
        made.append(one);
      }
    }
    return text.length() > LOGGED ? made.append('…').toString() : made.toString();
  }
}
