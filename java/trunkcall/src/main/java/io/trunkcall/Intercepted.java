package io.trunkcall;

import io.trunkcall.internal.client.Attempts;
import java.util.concurrent.CancellationException;
import java.util.concurrent.TimeoutException;

/**
 * What a call ends with for which the interceptors of the caller's side failed: the delivery
 * follows from what happened on the wire, whatever they say (client.md 5).
 */
final class Intercepted {
  private Intercepted() {}

  static StatusException failure(Throwable error, Attempts attempts) {
    Throwable found = CallFuture.unwrapped(error);
    boolean wentOn = attempts.wentOn();
    if (!(found instanceof StatusException said)) {
      Code code = Code.UNKNOWN;
      if (found instanceof TimeoutException) {
        code = Code.DEADLINE_EXCEEDED;
      } else if (found instanceof CancellationException) {
        code = Code.CANCELLED;
      }
      StatusException failure =
          Failures.local(
              code, Failures.spelled(found), wentOn ? Delivery.UNKNOWN : Delivery.NOT_SENT);
      failure.initCause(found);
      return failure;
    }
    Delivery delivery = attempts.delivery();
    if (wentOn && said.status().delivery() == delivery) {
      return said;
    }
    Status status =
        said.status().withDelivery(delivery).withLocal(said.status().local() || !wentOn);
    StatusException made =
        new StatusException(status, said.trailers(), said.headers(), said.peer());
    made.initCause(said);
    return made;
  }

  /** For interceptors that have left nothing where there has to be an answer, or a stream. */
  static StatusException nothing(Method<?, ?> method, boolean wentOn, Delivery delivery) {
    String text =
        "an interceptor answered null for a call of "
            + method.name()
            + ": want what the next step answered, or something in its place";
    if (!wentOn) {
      return Failures.local(Code.INTERNAL, text, Delivery.NOT_SENT);
    }
    return Failures.local(
        Code.INTERNAL, text, method.kind().streams() ? Delivery.UNKNOWN : delivery);
  }
}
