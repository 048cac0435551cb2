package io.trunkcall;

/** Failures that this side itself has found. */
final class Failures {
  private Failures() {}

  static Status localStatus(Code code, String message, Delivery delivery) {
    return Status.of(code, message).withDelivery(delivery).withLocal(true);
  }

  static StatusException local(Code code, String message, Delivery delivery) {
    return new StatusException(localStatus(code, message, delivery));
  }

  /** An exception in a line, with its type. */
  static String spelled(Throwable error) {
    String message = error.getMessage();
    String name = error.getClass().getSimpleName();
    return message == null || message.isEmpty() ? name : name + ": " + message;
  }
}
