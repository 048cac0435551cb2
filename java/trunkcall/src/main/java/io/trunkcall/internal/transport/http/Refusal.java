package io.trunkcall.internal.transport.http;

import io.trunkcall.Code;
import io.trunkcall.Delivery;
import io.trunkcall.Status;
import java.time.Duration;

/** Why a request does not become a call, or a call is not carried out. */
class Refusal extends Exception {
  private static final long serialVersionUID = 1L;
  private static final Duration SOON = Duration.ofMillis(1);

  private final Code code;
  private final boolean soon;

  Refusal(Code code, String text) {
    this(code, text, false);
  }

  private Refusal(Code code, String text, boolean soon) {
    super(text, null, false, false);
    this.code = code;
    this.soon = soon;
  }

  /** For want of something that others may give back: it may come again. */
  static Refusal full(String text) {
    return new Refusal(Code.RESOURCE_EXHAUSTED, text, true);
  }

  Code code() {
    return code;
  }

  String text() {
    return String.valueOf(getMessage());
  }

  /** As the caller is told: its handler has not begun. */
  Status refused() {
    Status status = Status.of(code, text()).withDelivery(Delivery.REFUSED);
    return soon ? status.withRetryAfter(SOON) : status;
  }

  /** As the caller is told: its handler has begun. */
  Status cut() {
    return Status.of(code, text()).withDelivery(Delivery.UNKNOWN);
  }
}
