package io.trunkcall.internal.transport.http;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Percent-encoding in paths and queries. */
final class Urls {
  private Urls() {}

  /** A path decoded, as it is if it is malformed. */
  static String path(String path) {
    byte @Nullable [] decoded = path.indexOf('%') < 0 ? null : decoded(path, false);
    return decoded == null ? path : new String(decoded, StandardCharsets.UTF_8);
  }

  /** The first value of each parameter of a query; null if it is malformed. */
  static @Nullable Map<String, byte[]> query(String query) {
    Map<String, byte[]> found = new HashMap<>();
    for (String part : query.split("&", -1)) {
      if (part.isEmpty()) {
        continue;
      }
      int cut = part.indexOf('=');
      byte[] name = decoded(cut < 0 ? part : part.substring(0, cut), true);
      byte[] value = decoded(cut < 0 ? "" : part.substring(cut + 1), true);
      if (name == null || value == null) {
        return null;
      }
      found.putIfAbsent(new String(name, StandardCharsets.UTF_8), value);
    }
    return found;
  }

  private static byte @Nullable [] decoded(String text, boolean plus) {
    ByteArrayOutputStream out = new ByteArrayOutputStream(text.length());
    for (int at = 0; at < text.length(); at++) {
      char one = text.charAt(at);
      if (one == '%') {
        boolean whole = at + 2 < text.length();
        int high = whole ? Character.digit(text.charAt(at + 1), 16) : -1;
        int low = whole ? Character.digit(text.charAt(at + 2), 16) : -1;
        if (high < 0 || low < 0) {
          return null;
        }
        out.write(high << 4 | low);
        at += 2;
      } else if (one == '+' && plus) {
        out.write(' ');
      } else {
        out.writeBytes(String.valueOf(one).getBytes(StandardCharsets.UTF_8));
      }
    }
    return out.toByteArray();
  }
}
