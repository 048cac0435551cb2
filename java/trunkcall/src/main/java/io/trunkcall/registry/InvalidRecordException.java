package io.trunkcall.registry;

/** What is no record: the message is one of the texts of registry.md 2.5. */
public final class InvalidRecordException extends IllegalArgumentException {
  private static final long serialVersionUID = 1L;

  InvalidRecordException(String message) {
    super(message);
  }
}
