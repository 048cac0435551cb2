package io.trunkcall;

/** Ends a call that is refused, of which all is said already. */
final class RefusedException extends RuntimeException {
  private static final long serialVersionUID = 1L;
  static final RefusedException SAID = new RefusedException();

  private RefusedException() {
    super("refused", null, false, false);
  }
}
