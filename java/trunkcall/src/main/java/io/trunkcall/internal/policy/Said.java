package io.trunkcall.internal.policy;

import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What the fields of a mapping say, by their names. */
final class Said {
  /** Stands for a group that its scope takes away. */
  static final Object NONE = new Object();

  private final Map<String, Object> values = new HashMap<>();

  void put(String name, @Nullable Object value) {
    if (value != null) { // else it is at fault
      values.put(name, value);
    }
  }

  boolean has(String name) {
    return values.containsKey(name);
  }

  /** A whole number, or a duration; the default if it is not said. */
  long number(String name, long otherwise) {
    return (Long) values.getOrDefault(name, otherwise);
  }

  String text(String name) {
    return (String) values.getOrDefault(name, "");
  }

  @SuppressWarnings("unchecked") // a field has what its form reads
  <T> T value(String name, T otherwise) {
    return (T) values.getOrDefault(name, otherwise);
  }

  @SuppressWarnings("unchecked") // a field has what its form reads
  <T> @Nullable T value(String name) {
    return (T) values.get(name);
  }
}
