package io.trunkcall.internal.policy;

import org.jspecify.annotations.Nullable;

/** Reads a file in JSON (policy.md 2.4). */
final class JsonForm {
  private static final char END = 0; // which no file has as a character

  private final String text;
  private int at;
  private int line = 1;
  private int nested;

  JsonForm(String text) {
    this.text = text;
  }

  Node read() throws BadFileException {
    Node root = value();
    root.line = 1;
    if (peek() != END) {
      throw fault("want the end, found " + found());
    }
    return root;
  }

  private BadFileException fault(String what) {
    return new BadFileException(line, what);
  }

  /** Passes over blanks and gives what follows. */
  private char peek() {
    for (; at < text.length(); at++) {
      char c = text.charAt(at);
      if (c == '\n') {
        line++;
      } else if (!Texts.isBlank(c)) {
        return c;
      }
    }
    return END;
  }

  /** Tells the character that follows. */
  private String found() {
    return at < text.length() ? Texts.quoted(Character.toString(text.codePointAt(at))) : "the end";
  }

  private Node value() throws BadFileException {
    switch (peek()) {
      case '{':
        return object();
      case '[':
        return array();
      case '"':
        return Node.text(line, quoted());
      default:
    }
    int end = at;
    while (end < text.length() && isOfWord(text.charAt(end))) {
      end++;
    }
    String word = text.substring(at, end);
    if (word.isEmpty()) {
      throw fault("want a value, found " + found());
    }
    @Nullable Node node = Node.scalar(line, word);
    if (node == null) {
      throw fault("want a value, found " + Texts.quoted(word));
    }
    at = end;
    return node;
  }

  private static boolean isOfWord(char c) {
    return Texts.isLetter(c) || Texts.isDigit(c) || c == '+' || c == '-' || c == '.';
  }

  private String quoted() throws BadFileException {
    Texts.Quoted read = Texts.unquote(text, at + 1, line);
    at = read.end();
    return read.text();
  }

  private void enter() throws BadFileException {
    if (++nested > Tree.DEEPEST) {
      throw fault("nested more than " + Tree.DEEPEST + " deep");
    }
    at++;
  }

  private void leave() {
    at++;
    nested--;
  }

  private Node object() throws BadFileException {
    Node node = Node.mapping(line);
    enter();
    boolean more = peek() != '}';
    while (more) {
      if (peek() != '"') {
        throw fault("want a key, found " + found());
      }
      int begun = line;
      String key = quoted();
      if (node.has(key)) {
        throw fault("the key " + Texts.quoted(key) + " comes twice");
      }
      if (peek() != ':') {
        throw fault("want \":\", found " + found());
      }
      at++;
      Node value = value();
      value.line = begun;
      node.entries.put(key, value);
      more = more('}');
    }
    leave();
    return node;
  }

  private Node array() throws BadFileException {
    Node node = Node.list(line);
    enter();
    boolean more = peek() != ']';
    while (more) {
      node.elements.add(value());
      more = more(']');
    }
    leave();
    return node;
  }

  /** Whether an element follows, or the end does. */
  private boolean more(char end) throws BadFileException {
    char c = peek();
    if (c == ',') {
      at++;
      return true;
    }
    if (c == end) {
      return false;
    }
    throw fault("want \",\" or \"" + end + "\", found " + found());
  }
}
