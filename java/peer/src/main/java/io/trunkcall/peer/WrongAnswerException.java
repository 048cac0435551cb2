package io.trunkcall.peer;

/** The server answered something else than it was asked. */
final class WrongAnswerException extends Exception {
  private static final long serialVersionUID = 1L;

  WrongAnswerException(String text) {
    super(text);
  }
}
