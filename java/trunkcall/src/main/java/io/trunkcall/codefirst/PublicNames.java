package io.trunkcall.codefirst;

import java.nio.charset.StandardCharsets;

/** The names that services, methods and fields have on the wire (code-first.md 2). */
final class PublicNames {
  private static final int LONGEST = 1024;

  private PublicNames() {}

  /**
   * The lowerCamelCase of a member's name: words end at underscores and where capitals begin or a
   * run of them ends, whatever the casing of acronyms.
   */
  static String of(String member) {
    StringBuilder name = new StringBuilder(member.length());
    boolean wordBegins = false;
    for (int i = 0; i < member.length(); i++) {
      char c = member.charAt(i);
      if (c == '_') {
        wordBegins = true;
        continue;
      }
      wordBegins |= isCapital(c) && i > 0 && capitalBeginsWord(member, i);
      name.append(wordBegins && name.length() > 0 ? toCapital(c) : toSmall(c));
      wordBegins = false;
    }
    return name.toString();
  }

  /** Whether a capital, not the first character, begins a word. */
  private static boolean capitalBeginsWord(String name, int i) {
    return !isCapital(name.charAt(i - 1)) || (i + 1 < name.length() && isSmall(name.charAt(i + 1)));
  }

  private static boolean isCapital(char c) {
    return 'A' <= c && c <= 'Z';
  }

  /** Holds for every character but capitals, digits and underscores. */
  private static boolean isSmall(char c) {
    return !isCapital(c) && c != '_' && (c < '0' || c > '9');
  }

  private static char toSmall(char c) {
    return isCapital(c) ? (char) (c + 'a' - 'A') : c;
  }

  private static char toCapital(char c) {
    return 'a' <= c && c <= 'z' ? (char) (c - 'a' + 'A') : c;
  }

  /** Checks the name of a service or of a method that a user gives, or that came out. */
  static String check(String what, String name) {
    if (name.isEmpty() || name.indexOf('/') >= 0 || Utf8.length(name) < 0) {
      throw new IllegalArgumentException(
          what + " \"" + name + "\": want a name without a slash, of valid text");
    }
    return name;
  }

  /** The name of a method on the wire, of checked names. */
  static String ofMethod(String service, String method) {
    String name = "/" + service + "/" + method;
    if (name.getBytes(StandardCharsets.UTF_8).length > LONGEST) {
      throw new IllegalArgumentException(
          "the name of method " + method + " is longer than " + LONGEST + " bytes");
    }
    return name;
  }
}
