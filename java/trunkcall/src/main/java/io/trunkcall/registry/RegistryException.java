package io.trunkcall.registry;

import java.io.IOException;

/** Why a registry has failed, in words that are told as they are. */
public final class RegistryException extends IOException {
  private static final long serialVersionUID = 1L;

  /** A failure. */
  public RegistryException(String message) {
    super(message);
  }

  /** A failure that another one is the cause of. */
  public RegistryException(String message, Throwable cause) {
    super(message, cause);
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
