package io.trunkcall.internal.transport;

import java.io.IOException;

/** A server took the connection and ended it, or takes no calls. */
public final class TurnedAwayException extends IOException {
  private static final long serialVersionUID = 1;

  /** The message says why. */
  public TurnedAwayException(String message) {
    super(message);
  }
}
