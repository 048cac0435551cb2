package io.trunkcall.internal.policy;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** One value of a file (policy.md 2.2). JSON and YAML give the same. */
final class Node {
  enum Kind {
    MAPPING,
    LIST,
    TEXT,
    NUMBER,
    TRUTH,
    NOTHING
  }

  final Kind kind;
  int line;
  final String text; // of a text, of a truth; of a number as it stands in the file
  final Map<String, Node> entries = new LinkedHashMap<>(); // of a mapping; the line is the key's
  final List<Node> elements = new ArrayList<>(); // of a list

  private Node(Kind kind, int line, String text) {
    this.kind = kind;
    this.line = line;
    this.text = text;
  }

  static Node mapping(int line) {
    return new Node(Kind.MAPPING, line, "");
  }

  static Node list(int line) {
    return new Node(Kind.LIST, line, "");
  }

  static Node text(int line, String text) {
    return new Node(Kind.TEXT, line, text);
  }

  static Node nothing(int line) {
    return new Node(Kind.NOTHING, line, "");
  }

  /** The node of a word: a truth, nothing, a number; null if it is none of them. */
  static @Nullable Node scalar(int line, String word) {
    return switch (word) {
      case "true", "false" -> new Node(Kind.TRUTH, line, word);
      case "null" -> nothing(line);
      default -> Texts.isNumber(word) ? new Node(Kind.NUMBER, line, word) : null;
    };
  }

  boolean is(Kind wanted) {
    return kind == wanted;
  }

  boolean has(String key) {
    return entries.containsKey(key);
  }

  boolean isNone() {
    return kind == Kind.TEXT && text.equals("none");
  }

  /** How it is told in a message. */
  String found() {
    return switch (kind) {
      case MAPPING -> "a mapping";
      case LIST -> "a list";
      case TEXT -> Texts.quoted(text);
      case NUMBER -> Texts.cut(text);
      case TRUTH -> text;
      case NOTHING -> "nothing";
    };
  }
}
