package io.trunkcall.registry;

import io.trunkcall.internal.transport.Address;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/** What names, texts and addresses of records are (registry.md 2.1, 2.2, 5.3). */
final class Names {
  static final int MOST_ADDRESS = 255; // bytes
  static final int MOST_ID = 128;
  static final int MOST_SERVICE = 200;

  private Names() {}

  /** A name of 2.2 of at most so many bytes. */
  static boolean isName(String text, int most) {
    if (text.isEmpty() || text.length() > most || text.charAt(0) == '.' || text.charAt(0) == '-') {
      return false;
    }
    return text.chars().allMatch(Names::inName);
  }

  private static boolean inName(int c) {
    return c >= 'a' && c <= 'z'
        || c >= 'A' && c <= 'Z'
        || c >= '0' && c <= '9'
        || c == '.'
        || c == '_'
        || c == '-';
  }

  /** A text of at most so many bytes of UTF-8 without control characters. */
  static boolean isText(String text, int most) {
    if (text.length() > most || !isWhole(text)) {
      return false;
    }
    for (int at = 0; at < text.length(); at++) {
      char one = text.charAt(at);
      if (one < ' ' || one == 0x7f) {
        return false;
      }
    }
    return text.getBytes(StandardCharsets.UTF_8).length <= most;
  }

  /** Whether a text has no half of a character, which UTF-8 has no bytes for. */
  static boolean isWhole(String text) {
    for (int at = 0; at < text.length(); at++) {
      if (Character.isSurrogate(text.charAt(at))) {
        boolean pair =
            at + 1 < text.length()
                && Character.isSurrogatePair(text.charAt(at), text.charAt(at + 1));
        if (!pair) {
          return false;
        }
        at++;
      }
    }
    return true;
  }

  /** What is wrong with an address of client.md 6.2; null if nothing is. */
  static @Nullable String whyNoAddress(String text) {
    try {
      Address.parse(text);
      return null;
    } catch (IllegalArgumentException fault) {
      return String.valueOf(fault.getMessage());
    }
  }

  /** The id that is made of an address (5.3). */
  static String idOf(String address) {
    StringBuilder id = new StringBuilder();
    address.codePoints().forEach(one -> id.append(inName(one) ? (char) one : '_'));
    id.delete(0, Math.max(id.length() - (MOST_ID - 1), 0));
    if (id.length() == 0 || id.charAt(0) == '.' || id.charAt(0) == '-') {
      id.insert(0, '_');
    }
    return id.toString();
  }
}
