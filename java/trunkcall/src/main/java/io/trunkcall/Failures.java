package io.trunkcall;

import io.trunkcall.internal.transport.Carrier;
import io.trunkcall.internal.transport.Clock;
import org.jspecify.annotations.Nullable;

/** Failures that this side itself has found. */
final class Failures {
  private Failures() {}

  static Status localStatus(Code code, String message, Delivery delivery) {
    return Status.of(code, message).withDelivery(delivery).withLocal(true);
  }

  static StatusException local(Code code, String message, Delivery delivery) {
    return new StatusException(localStatus(code, message, delivery));
  }

  /** Has the status of a call whose deadline has passed say which, and why, if that is known. */
  static Status named(Status status, Method<?, ?> method, @Nullable Carrier on) {
    if (status.code() != Code.DEADLINE_EXCEEDED || !status.local()) {
      return status;
    }
    String unheard = on == null ? "" : on.session().unheard(Clock.micros());
    return localStatus(
        status.code(),
        status.message() + ": " + method.name() + (unheard.isEmpty() ? "" : "; " + unheard),
        status.delivery());
  }

  /** An exception in a line, with its type. */
  static String spelled(Throwable error) {
    String message = error.getMessage();
    String name = error.getClass().getSimpleName();
    return message == null || message.isEmpty() ? name : name + ": " + message;
  }
}
