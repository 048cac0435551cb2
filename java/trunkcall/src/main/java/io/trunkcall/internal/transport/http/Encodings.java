package io.trunkcall.internal.transport.http;

import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** Compressions by the names that the protocols have for them, and times. */
final class Encodings {
  private static final @Nullable String[] NAMES = {null, "gzip", "zstd"};

  private Encodings() {}

  /** The name of a compression, by its number. */
  static String name(int number) {
    String name = number < NAMES.length ? NAMES[number] : null;
    return name == null ? "identity" : name;
  }

  /** Its number; 0 for one that is not known. */
  static int number(String name) {
    for (int number = 1; number < NAMES.length; number++) {
      if (name.equals(NAMES[number])) {
        return number;
      }
    }
    return 0;
  }

  /** Compressions as a field lists them. */
  static String listed(Set<Integer> numbers) {
    StringBuilder list = new StringBuilder("identity");
    for (int number : new TreeSet<>(numbers)) {
      if (number < NAMES.length) {
        list.append(',').append(name(number));
      }
    }
    return list.toString();
  }

  /** A bit for each compression that a field lists, unless it says that it is not wanted. */
  static int accepted(String list) {
    int found = 0;
    for (String one : list.split(",", -1)) {
      int cut = one.indexOf(';');
      int number = number((cut < 0 ? one : one.substring(0, cut)).trim());
      if (number != 0 && (cut < 0 || !zeroQuality(one.substring(cut + 1).trim()))) {
        found |= 1 << number;
      }
    }
    return found;
  }

  private static boolean zeroQuality(String parameter) {
    return parameter.startsWith("q=")
        && parameter.substring(2).chars().allMatch(one -> one == '0' || one == '.');
  }

  /** What a grpc-timeout says, in µs, at least 1; -1: it is malformed. Long.MAX_VALUE: forever. */
  static long grpcTimeout(String text) {
    int last = text.length() - 1;
    long number = last < 1 || last > 8 ? -1 : digits(text.substring(0, last));
    if (number < 0) {
      return -1;
    }
    return switch (text.charAt(last)) {
      case 'H' -> number * 3_600_000_000L;
      case 'M' -> number * 60_000_000L;
      case 'S' -> number * 1_000_000L;
      case 'm' -> number * 1_000L;
      case 'u' -> number;
      case 'n' -> (number + 999) / 1_000;
      default -> -1;
    };
  }

  /** What a connect-timeout-ms says, in µs; -1: it is malformed. */
  static long connectTimeout(String text) {
    long number = text.isEmpty() || text.length() > 10 ? -1 : digits(text);
    return number < 0 ? -1 : number * 1_000L;
  }

  private static long digits(String text) {
    long number = 0;
    for (int at = 0; at < text.length(); at++) {
      char one = text.charAt(at);
      if (one < '0' || one > '9') {
        return -1;
      }
      number = 10 * number + (one - '0');
    }
    return number;
  }
}
