package io.trunkcall.internal.transport;

import java.io.IOException;

/** No address could be reached. The text names each and what was wrong with it. */
public final class DialException extends IOException {
  private static final long serialVersionUID = 1L;

  public DialException(String text) {
    super(text);
  }
}
