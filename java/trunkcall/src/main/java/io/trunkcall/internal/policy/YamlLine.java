package io.trunkcall.internal.policy;

import org.jspecify.annotations.Nullable;

/**
 * A line of a file in YAML without its indentation: a key, and values in one line (policy.md 2.5).
 */
final class YamlLine {
  final String text;
  private final int number;

  YamlLine(int number, String text) {
    this.number = number;
    this.text = text;
  }

  private BadFileException fault(String what) {
    return new BadFileException(number, what);
  }

  private char at(int index) {
    return text.charAt(index);
  }

  /** Whether it has nothing more than a comment from there on. */
  boolean ends(int begin) {
    int at = skip(begin);
    return at >= text.length() || (at(at) == '#' && at > begin);
  }

  /** Passes over blanks. */
  int skip(int begin) {
    int at = begin;
    while (at < text.length() && Texts.isBlank(at(at))) {
      at++;
    }
    return at;
  }

  /** Whether a text is this character, or begins with it and a blank. */
  static boolean begins(String text, char c) {
    return !text.isEmpty()
        && text.charAt(0) == c
        && (text.length() == 1 || Texts.isBlank(text.charAt(1)));
  }

  void checkNested(int nested) throws BadFileException {
    if (nested > Tree.DEEPEST) {
      throw fault("nested more than " + Tree.DEEPEST + " deep");
    }
  }

  /** Reads its key, and gives where the value begins. */
  Texts.Quoted key() throws BadFileException {
    Texts.Quoted key;
    switch (at(0)) {
      case '"' -> key = Texts.unquote(text, 1, number);
      case '\'' -> key = apostrophes(1);
      case '[' -> throw fault("lists as keys are not read here");
      default -> {
        checkBegin(text);
        int end = colon(text);
        if (end < 0) {
          throw fault("want \"key: value\"");
        }
        key = new Texts.Quoted(Texts.trimmed(text.substring(0, end)), end);
      }
    }
    int end = skip(key.end());
    if (end >= text.length() || !begins(text.substring(end), ':')) {
      throw fault("want \"key: value\"");
    }
    return new Texts.Quoted(key.text(), end + 1);
  }

  /** Where a plain text has a colon before a blank or at its end, before a comment; else -1. */
  private static int colon(String text) {
    for (int at = 0; at < text.length(); at++) {
      char c = text.charAt(at);
      if (c == ':' && (at + 1 == text.length() || Texts.isBlank(text.charAt(at + 1)))) {
        return at;
      }
      if (c == '#' && at > 0 && Texts.isBlank(text.charAt(at - 1))) {
        return -1;
      }
    }
    return -1;
  }

  /** Fails where no plain text may begin so. */
  private void checkBegin(String plain) throws BadFileException {
    String notRead =
        switch (plain.charAt(0)) {
          case '&' -> "anchors";
          case '*' -> "aliases";
          case '!' -> "tags";
          case '|', '>' -> "blocks of text";
          case '{' -> "mappings in braces";
          default -> "";
        };
    if (!notRead.isEmpty()) {
      throw fault(notRead + " are not read here");
    }
    boolean alone = begins(plain, '-') || begins(plain, '?') || begins(plain, ':');
    if (alone || ",]}%@`#".indexOf(plain.charAt(0)) >= 0) {
      throw fault("want a value, found " + Texts.quoted(plain.substring(0, 1)));
    }
  }

  /** Reads a value that stands behind its key, or in a list, to the end of the line. */
  Node inline(int begin, int nested) throws BadFileException {
    Read read;
    char c = at(begin);
    if (c == '"' || c == '\'') {
      read = quoted(begin);
    } else if (c == '[') {
      checkNested(nested + 1);
      read = brackets(begin + 1);
    } else if (c == '{' && text.startsWith("}", skip(begin + 1))) {
      checkNested(nested + 1);
      read = new Read(Node.mapping(number), skip(begin + 1) + 1);
    } else {
      return plain(untilComment(text.substring(begin)));
    }
    if (!ends(read.end)) {
      throw fault("something behind a value");
    }
    return read.node;
  }

  /** A value, and where it ends. */
  private record Read(Node node, int end) {}

  private Read quoted(int begin) throws BadFileException {
    Texts.Quoted read =
        at(begin) == '"' ? Texts.unquote(text, begin + 1, number) : apostrophes(begin + 1);
    return new Read(Node.text(number, read.text()), read.end());
  }

  /** The part of a text before a comment and the blanks before that. */
  private static String untilComment(String text) {
    int end = text.length();
    for (int at = 1; at < end; at++) {
      if (text.charAt(at) == '#' && Texts.isBlank(text.charAt(at - 1))) {
        end = at;
      }
    }
    return Texts.trimmed(text.substring(0, end));
  }

  private Node plain(String plain) throws BadFileException {
    checkBegin(plain);
    if (colon(plain) >= 0) {
      throw fault("a \":\" in a plain text wants quotation marks");
    }
    @Nullable Node scalar = Node.scalar(number, plain.equals("~") ? "null" : plain);
    return scalar == null ? Node.text(number, plain) : scalar;
  }

  /** Reads a text from behind its first apostrophe. */
  private Texts.Quoted apostrophes(int begin) throws BadFileException {
    StringBuilder read = new StringBuilder();
    for (int at = begin; at < text.length(); at++) {
      if (at(at) == '\'' && !text.startsWith("'", ++at)) {
        return new Texts.Quoted(read.toString(), at);
      }
      read.append(at(at));
    }
    throw fault("a text is not closed");
  }

  /** Reads a list from behind its bracket. */
  private Read brackets(int begin) throws BadFileException {
    Node node = Node.list(number);
    int at = begin;
    while (true) {
      at = within(at);
      if (at(at) == ']' && node.elements.isEmpty()) {
        return new Read(node, at + 1);
      }
      Read element = element(at);
      node.elements.add(element.node);
      at = within(element.end);
      if (at(at) == ']') {
        return new Read(node, at + 1);
      }
      if (at(at) != ',') {
        throw fault("something behind a value");
      }
      at++;
    }
  }

  /** Passes over blanks in brackets, which do not end in this line if nothing follows. */
  private int within(int at) throws BadFileException {
    if (ends(at)) {
      throw fault("a list is not closed");
    }
    return skip(at);
  }

  /** Reads an element of a list in brackets. */
  private Read element(int begin) throws BadFileException {
    char c = at(begin);
    if (c == '"' || c == '\'') {
      return quoted(begin);
    }
    if (c == '[') {
      throw fault("lists in lists are not read here");
    }
    checkBegin(text.substring(begin, Math.min(begin + 2, text.length())));
    int end = begin;
    while (end < text.length() && ",[]{}".indexOf(at(end)) < 0) {
      end++;
    }
    String plain = untilComment(text.substring(begin, end));
    return new Read(plain(plain), begin + plain.length());
  }
}
