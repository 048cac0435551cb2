package io.trunkcall.internal.policy;

import java.util.List;

/**
 * Reads a file in the part of YAML that policy.md 2.5 tells. It stands at a line with something in
 * it, or behind the last.
 */
final class YamlForm {
  private final List<String> lines;
  private int next = -1; // of the lines, the one that it stands at
  private int indent;
  private boolean over; // it stands at "...", or behind the last line
  private int nested;
  private YamlLine line = new YamlLine(0, "");

  YamlForm(String text) {
    lines = List.of(text.split("\n", -1));
  }

  Node read() throws BadFileException {
    advance();
    if (isMarker("---")) {
      advance();
    }
    Node root = Node.mapping(1);
    if (!over) {
      root = block(indent, false);
      if (!over) {
        throw fault("wrong indentation");
      }
    }
    root.line = 1;
    if (next == lines.size()) {
      throw new BadFileException(
          lines.size(), "the file ends without \"...\" and may be half written");
    }
    for (next++; next < lines.size(); next++) {
      String text = lines.get(next);
      if (!isPassedOver(text, indentation(text))) {
        throw fault("something behind \"...\"");
      }
    }
    return root;
  }

  private BadFileException fault(String what) {
    return new BadFileException(next + 1, what);
  }

  private static int indentation(String text) {
    int end = 0;
    while (end < text.length() && Texts.isBlank(text.charAt(end))) {
      end++;
    }
    return end;
  }

  private static boolean isPassedOver(String text, int begin) {
    return begin == text.length() || text.charAt(begin) == '#';
  }

  /** Goes to the next line with something in it. */
  private void advance() throws BadFileException {
    for (next++; next < lines.size(); next++) {
      String text = lines.get(next);
      indent = indentation(text);
      if (isPassedOver(text, indent)) {
        continue;
      }
      if (text.substring(0, indent).indexOf('\t') >= 0) {
        throw fault("a tab in the indentation");
      }
      line = new YamlLine(next + 1, text.substring(indent));
      over = isMarker("...");
      return;
    }
    over = true;
  }

  /** Whether the line is that marker and nothing else. */
  private boolean isMarker(String marker) {
    return next < lines.size()
        && indent == 0
        && line.text.startsWith(marker)
        && line.ends(marker.length());
  }

  private boolean isElement() {
    return YamlLine.begins(line.text, '-');
  }

  /**
   * Reads a mapping or list whose lines are indented so. A flat list is indented as the mapping
   * that it stands in.
   */
  private Node block(int indented, boolean flat) throws BadFileException {
    nested++;
    line.checkNested(nested);
    Node read = isElement() ? list(indented, flat) : mapping(indented);
    nested--;
    return read;
  }

  private Node list(int indented, boolean flat) throws BadFileException {
    Node node = Node.list(next + 1);
    while (!over && indent >= indented) {
      if (indent > indented) {
        throw fault("wrong indentation");
      }
      if (!isElement()) {
        if (flat) {
          return node;
        }
        throw fault("a list and a mapping in one place");
      }
      node.elements.add(line.ends(1) ? Node.nothing(next + 1) : element());
      advance();
    }
    return node;
  }

  private Node element() throws BadFileException {
    int begin = line.skip(1);
    if (line.text.charAt(begin) == '[') {
      throw fault("lists in lists are not read here");
    }
    return line.inline(begin, nested);
  }

  private Node mapping(int indented) throws BadFileException {
    Node node = Node.mapping(next + 1);
    while (!over && indent >= indented) {
      if (indent > indented) {
        throw fault("wrong indentation");
      }
      if (isElement()) {
        throw fault("a list and a mapping in one place");
      }
      int begun = next + 1;
      Texts.Quoted key = line.key();
      if (node.has(key.text())) {
        throw fault("the key " + Texts.quoted(key.text()) + " comes twice");
      }
      Node value = value(key.end(), indented);
      value.line = begun;
      node.entries.put(key.text(), value);
    }
    return node;
  }

  /** Reads what stands behind a key, or in the lines below it. */
  private Node value(int begin, int indented) throws BadFileException {
    if (!line.ends(begin)) {
      Node value = line.inline(line.skip(begin), nested);
      advance();
      return value;
    }
    advance();
    boolean isBelow = !over && (indent > indented || (indent == indented && isElement()));
    return isBelow ? block(indent, indent == indented) : Node.nothing(next + 1);
  }
}
