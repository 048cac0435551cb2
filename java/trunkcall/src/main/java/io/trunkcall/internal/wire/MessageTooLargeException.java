package io.trunkcall.internal.wire;

/** A message above the peer's max_message. */
public final class MessageTooLargeException extends LimitException {
  private static final long serialVersionUID = 1L;

  MessageTooLargeException(int size, long most) {
    super(
        "message of "
            + size
            + " bytes exceeds the peer's max_message "
            + most
            + ": raise the limit of messages there, or stream");
  }
}
