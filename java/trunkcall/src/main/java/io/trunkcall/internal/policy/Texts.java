package io.trunkcall.internal.policy;

/** Characters of a file, and how they are told in messages and paths (policy.md 5.2). */
final class Texts {
  private static final int MOST_TOLD = 40; // characters of what stands in a file
  private static final String ESCAPES = "\"\\/bfnrt";
  private static final String MEANINGS = "\"\\/\b\f\n\r\t";

  private Texts() {}

  static boolean isBlank(char c) {
    return c == ' ' || c == '\t';
  }

  /** A text without the blanks at its end. */
  static String trimmed(String text) {
    int end = text.length();
    while (end > 0 && isBlank(text.charAt(end - 1))) {
      end--;
    }
    return text.substring(0, end);
  }

  static boolean isLetter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  }

  static boolean isDigit(char c) {
    return c >= '0' && c <= '9';
  }

  /** Where the digits end that stand from there on. */
  static int digits(String text, int at) {
    int end = at;
    while (end < text.length() && isDigit(text.charAt(end))) {
      end++;
    }
    return end;
  }

  /** Whether a word is a number of JSON. */
  static boolean isNumber(String word) {
    int begin = word.startsWith("-") ? 1 : 0;
    int at = digits(word, begin);
    if (at == begin || (at > begin + 1 && word.charAt(begin) == '0')) {
      return false;
    }
    if (at < word.length() && word.charAt(at) == '.') {
      int end = digits(word, at + 1);
      if (end == at + 1) {
        return false;
      }
      at = end;
    }
    if (at < word.length() && (word.charAt(at) | 0x20) == 'e') {
      at++;
      if (at < word.length() && (word.charAt(at) == '+' || word.charAt(at) == '-')) {
        at++;
      }
      int end = digits(word, at);
      return end > at && end == word.length();
    }
    return at == word.length();
  }

  static String cut(String text) {
    return text.codePointCount(0, text.length()) <= MOST_TOLD
        ? text
        : text.substring(0, text.offsetByCodePoints(0, MOST_TOLD)) + "…";
  }

  static String quoted(String text) {
    String told = cut(text);
    StringBuilder quoted = new StringBuilder("\"");
    for (int at = 0; at < told.length(); at++) {
      char c = told.charAt(at);
      if (c == '"' || c == '\\') {
        quoted.append('\\').append(c);
      } else if (c < ' ' || c == 0x7F || c == 0xFEFF) {
        quoted.append(String.format("\\u%04x", (int) c));
      } else {
        quoted.append(c);
      }
    }
    return quoted.append('"').toString();
  }

  /** The path of a key in a mapping. */
  static String below(String path, String key) {
    String told = isPlainKey(key) ? cut(key) : quoted(key);
    return path.isEmpty() ? told : path + "." + told;
  }

  private static boolean isPlainKey(String key) {
    for (int at = 0; at < key.length(); at++) {
      char c = key.charAt(at);
      if (!isLetter(c) && c != '_' && (at == 0 || (c != '-' && !isDigit(c)))) {
        return false;
      }
    }
    return !key.isEmpty();
  }

  /** A text in quotation marks, and where it ends. */
  record Quoted(String text, int end) {}

  /** Reads a text with the escapes of JSON from behind its first quotation mark. */
  static Quoted unquote(String text, int begin, int line) throws BadFileException {
    StringBuilder read = new StringBuilder();
    int at = begin;
    while (true) {
      char c = within(text, at, line);
      if (c == '"') {
        return new Quoted(read.toString(), at + 1);
      }
      at = c == '\\' ? escaped(text, at + 1, line, read) : at + 1;
      if (c != '\\') {
        read.append(c);
      }
    }
  }

  /** A character of a text that ends in its line. */
  private static char within(String text, int at, int line) throws BadFileException {
    if (at >= text.length() || text.charAt(at) == '\n') {
      throw new BadFileException(line, "a text is not closed");
    }
    return text.charAt(at);
  }

  /** Reads an escape from behind its backslash, and gives where it ends. */
  private static int escaped(String text, int at, int line, StringBuilder read)
      throws BadFileException {
    char c = within(text, at, line);
    int known = ESCAPES.indexOf(c);
    if (known >= 0) {
      read.append(MEANINGS.charAt(known));
      return at + 1;
    }
    if (c != 'u') {
      throw new BadFileException(line, "an unknown escape");
    }
    char one = unit(text, at + 1, line);
    read.append(one);
    if (!Character.isSurrogate(one)) {
      return at + 5;
    }
    if (Character.isLowSurrogate(one) || !text.startsWith("\\u", at + 5)) {
      throw new BadFileException(line, "half a surrogate pair");
    }
    char other = unit(text, at + 7, line);
    if (!Character.isLowSurrogate(other)) {
      throw new BadFileException(line, "half a surrogate pair");
    }
    read.append(other);
    return at + 11;
  }

  /** Reads the four digits of an escape. */
  private static char unit(String text, int begin, int line) throws BadFileException {
    int unit = 0;
    for (int at = begin; at < begin + 4; at++) {
      char c = at < text.length() ? text.charAt(at) : ' ';
      if (c > 0x7F || Character.digit(c, 16) < 0) {
        throw new BadFileException(line, "an unknown escape");
      }
      unit = unit << 4 | Character.digit(c, 16);
    }
    return (char) unit;
  }
}
