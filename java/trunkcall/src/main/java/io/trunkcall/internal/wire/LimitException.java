package io.trunkcall.internal.wire;

/**
 * What is to be sent crosses a limit that the peer has told. Nothing of it was sent, and the call
 * is as it was. The text names the limit and its value.
 */
public class LimitException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  LimitException(String text) {
    super(text);
  }
}
