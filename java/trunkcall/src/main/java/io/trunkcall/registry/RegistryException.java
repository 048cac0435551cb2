package io.trunkcall.registry;

import io.trunkcall.Code;
import io.trunkcall.Status;
import io.trunkcall.StatusException;
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

  /**
   * A fault in a line: its own text if it is one of ours, else with its type. A status is told by
   * its message, with its code unless that is UNAVAILABLE: what asks the registry has a status and
   * a delivery of its own.
   */
  static String spelled(Throwable fault) {
    if (fault instanceof StatusException failed) {
      Status status = failed.status();
      String code = status.code() == Code.UNAVAILABLE ? "" : status.code() + ": ";
      return code + status.message();
    }
    String text = fault.getMessage();
    String name = fault.getClass().getSimpleName();
    if (text == null || text.isEmpty()) {
      return name;
    }
    return fault instanceof RegistryException ? text : name + ": " + text;
  }
}
