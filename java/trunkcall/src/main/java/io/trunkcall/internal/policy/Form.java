package io.trunkcall.internal.policy;

import io.trunkcall.Code;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** How the value of a field is read (policy.md 2.7). */
interface Form<T> {
  /** Truths. */
  Form<Boolean> TRUTH =
      (reading, node, path) -> {
        if (!node.is(Node.Kind.TRUTH)) {
          reading.wants("true or false", node, path);
          return null;
        }
        return node.text.equals("true");
      };

  /** A code other than OK and CANCELLED. */
  Form<Code> CODE =
      (reading, node, path) -> {
        for (Code code : Code.values()) {
          boolean allowed = code != Code.OK && code != Code.CANCELLED;
          if (allowed && node.is(Node.Kind.TEXT) && code.name().equals(node.text)) {
            return code;
          }
        }
        reading.wants("a code other than OK and CANCELLED", node, path);
        return null;
      };

  /** A list of such, at least one, none twice. */
  Form<Codes> CODES =
      (reading, node, path) -> {
        if (!node.is(Node.Kind.LIST)) {
          reading.wants("a list of codes", node, path);
          return null;
        }
        if (node.elements.isEmpty()) {
          reading.fault(node.line, path, "want at least one code");
        }
        Codes found = new Codes(0);
        for (int at = 0; at < node.elements.size(); at++) {
          Node element = node.elements.get(at);
          String where = path + "[" + at + "]";
          Code code = CODE.read(reading, element, where);
          if (code != null && found.has(code)) {
            reading.fault(element.line, where, code + " comes twice");
          }
          found = code == null ? found : found.with(code);
        }
        return found;
      };

  /** The value of a node; null if it is at fault, which has been told then. */
  @Nullable T read(Reading reading, Node node, String path);

  /** A whole number between two. */
  static Form<Long> whole(long least, long most) {
    return (reading, node, path) -> {
      @Nullable Long number = wholeNumber(node);
      if (number == null || number < least || number > most) {
        reading.wants("a whole number from " + least + " to " + most, node, path);
        return null;
      }
      return number;
    };
  }

  /** The number of a node, if it is a whole one of at most 18 digits. */
  static @Nullable Long wholeNumber(Node node) {
    Pattern whole = Durations.WHOLE;
    return node.is(Node.Kind.NUMBER) && whole.matcher(node.text).matches()
        ? Long.valueOf(node.text)
        : null;
  }

  /** A duration between two that are written as in a file. */
  static Form<Long> duration(String least, String most) {
    long lowest = Durations.parse(least);
    long highest = Durations.parse(most);
    return (reading, node, path) -> {
      long found = node.is(Node.Kind.TEXT) ? Durations.parse(node.text) : -1;
      if (found < lowest || found > highest) {
        reading.wants("a duration from " + least + " to " + most, node, path);
        return null;
      }
      return found;
    };
  }

  /** One of several words. */
  static Form<String> word(String... words) {
    int last = words.length - 1;
    String wanted = String.join(", ", Arrays.copyOf(words, last)) + " or " + words[last];
    return (reading, node, path) -> {
      if (!node.is(Node.Kind.TEXT) || !List.of(words).contains(node.text)) {
        reading.wants(wanted, node, path);
        return null;
      }
      return node.text;
    };
  }
}
