package io.trunkcall.registry;

import java.io.IOException;

/** What a registry does against the rules, or not in time. */
final class RegistryException extends IOException {
  private static final long serialVersionUID = 1L;

  RegistryException(String message) {
    super(message);
  }

  /** A fault in a line: its own text if it is one of ours, else with its type. */
  static String spelled(Throwable fault) {
    String text = fault.getMessage();
    String name = fault.getClass().getSimpleName();
    if (text == null || text.isEmpty()) {
      return name;
    }
    return fault instanceof RegistryException ? text : name + ": " + text;
  }
}
