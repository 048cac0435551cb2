package io.trunkcall;

import io.trunkcall.internal.transport.Carrier;
import io.trunkcall.internal.transport.Clock;
import java.io.IOException;
import java.math.BigDecimal;
import org.jspecify.annotations.Nullable;

/** Failures that this side itself has found. */
final class Failures {
  /** What is told of a server that is started without an address; it may be given one later. */
  static final String NOWHERE =
      "the server listens nowhere, so that nobody can call it yet: give it an address, such as"
          + " listen(\"0.0.0.0:4000\")";

  private static final long SECOND = 1_000_000; // µs
  private static final long MINUTE = 60 * SECOND;

  private Failures() {}

  /** Why an address cannot be listened on, which a listener has said with its fault, or not. */
  static String notListening(String address, IOException fault) {
    String said = String.valueOf(fault.getMessage());
    String begin = "cannot listen on ";
    return said.startsWith(begin) ? said : begin + address + ": " + said;
  }

  static Status localStatus(Code code, String message, Delivery delivery) {
    return Status.of(code, message).withDelivery(delivery).withLocal(true);
  }

  static StatusException local(Code code, String message, Delivery delivery) {
    return new StatusException(localStatus(code, message, delivery));
  }

  /** Has the status of a call whose deadline has passed say which, and why, if that is known. */
  static Status named(Status status, Method<?, ?> method, long had, @Nullable Carrier on) {
    if (status.code() != Code.DEADLINE_EXCEEDED || !status.local()) {
      return status;
    }
    String unheard = on == null ? "" : on.session().unheard(Clock.micros());
    return localStatus(
        status.code(),
        status.message() + ": " + overdue(method, had) + (unheard.isEmpty() ? "" : "; " + unheard),
        status.delivery());
  }

  /** A call whose deadline has passed, and how long it had, in µs; 0: that is not known. */
  static String overdue(Method<?, ?> method, long had) {
    return had <= 0 ? method.name() : method.name() + " had " + duration(had);
  }

  /** A time in µs as all languages write it: 50µs, 1.5ms, 200ms, 1m30s. */
  private static String duration(long micros) {
    if (micros < 1_000) {
      return micros + "µs";
    }
    if (micros < SECOND) {
      return plain(micros, 3) + "ms";
    }
    long minutes = micros / MINUTE;
    String seconds = plain(micros % MINUTE, 6) + "s";
    if (minutes == 0) {
      return seconds;
    }
    return (minutes < 60 ? "" : minutes / 60 + "h") + minutes % 60 + "m" + seconds;
  }

  private static String plain(long count, int decimals) {
    BigDecimal exact = BigDecimal.valueOf(count, decimals);
    return exact.signum() == 0 ? "0" : exact.stripTrailingZeros().toPlainString();
  }

  /** An exception in a line, with its type. */
  static String spelled(Throwable error) {
    String message = error.getMessage();
    String name = error.getClass().getSimpleName();
    return message == null || message.isEmpty() ? name : name + ": " + message;
  }
}
