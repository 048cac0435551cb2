package io.trunkcall;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * How a call ended: a code, a message for people, details for programs and, for failures, the
 * delivery. Statuses never change; the functions that begin with {@code with} make new ones.
 */
public final class Status {
  /** A call that succeeded. */
  public static final Status OK =
      new Status(Code.OK, "", List.of(), Delivery.EXECUTED, Duration.ZERO, false, false);

  private final Code code;
  private final String message;
  private final List<Detail> details;
  private final Delivery delivery;
  private final Duration retryAfter;
  private final boolean stripped;
  private final boolean local;

  private Status(
      Code code,
      String message,
      List<Detail> details,
      Delivery delivery,
      Duration retryAfter,
      boolean stripped,
      boolean local) {
    this.code = code;
    this.message = message;
    this.details = details;
    this.delivery = delivery;
    this.retryAfter = retryAfter;
    this.stripped = stripped;
    this.local = local;
  }

  /** A status without details, of unknown delivery. */
  public static Status of(Code code, String message) {
    Objects.requireNonNull(code, "code");
    Objects.requireNonNull(message, "message");
    return new Status(code, message, List.of(), Delivery.UNKNOWN, Duration.ZERO, false, false);
  }

  /** Which of the kinds of ending it is. */
  public Code code() {
    return code;
  }

  /** What went wrong, for people. */
  public String message() {
    return message;
  }

  /** What the failed side says besides. */
  public List<Detail> details() {
    return details;
  }

  /** Whether the handler ran. */
  public Delivery delivery() {
    return delivery;
  }

  /**
   * Of a refusal: after how long the same server may be asked again; zero: asking again is
   * pointless.
   */
  public Duration retryAfter() {
    return retryAfter;
  }

  /** Whether the sender left out details, or the end of the message, because they did not fit. */
  public boolean stripped() {
    return stripped;
  }

  /** Whether the caller's side found the failure itself; no answer brought it. */
  public boolean local() {
    return local;
  }

  /** Whether the code is {@link Code#OK}. */
  public boolean ok() {
    return code == Code.OK;
  }

  /** The same with these details. */
  public Status withDetails(List<Detail> details) {
    return new Status(code, message, List.copyOf(details), delivery, retryAfter, stripped, local);
  }

  /** The same with another delivery. */
  public Status withDelivery(Delivery delivery) {
    Objects.requireNonNull(delivery, "delivery");
    return new Status(code, message, details, delivery, retryAfter, stripped, local);
  }

  /** The same with a time after which the same server may be asked again. */
  public Status withRetryAfter(Duration retryAfter) {
    if (retryAfter.isNegative()) {
      throw new IllegalArgumentException("retryAfter is " + retryAfter + ", which is negative");
    }
    return new Status(code, message, details, delivery, retryAfter, stripped, local);
  }

  /** The same, with {@link #stripped} as given. */
  public Status withStripped(boolean stripped) {
    return new Status(code, message, details, delivery, retryAfter, stripped, local);
  }

  /** The same, with {@link #local} as given. */
  public Status withLocal(boolean local) {
    return new Status(code, message, details, delivery, retryAfter, stripped, local);
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof Status that
        && code == that.code
        && delivery == that.delivery
        && stripped == that.stripped
        && local == that.local
        && message.equals(that.message)
        && retryAfter.equals(that.retryAfter)
        && details.equals(that.details);
  }

  @Override
  public int hashCode() {
    return Objects.hash(code, message, details, delivery, retryAfter, stripped, local);
  }

  /** {@code CODE: message}, with the delivery behind it unless the handler gave the status. */
  @Override
  public String toString() {
    String said =
        switch (delivery) {
          case UNKNOWN -> " (delivery unknown)";
          case NOT_SENT -> " (not sent)";
          case REFUSED -> " (refused)";
          case EXECUTED -> "";
        };
    return code + ": " + message + said;
  }

  /**
   * A detail of a status: the URL of a type, and a value of that type, as in google.protobuf.Any.
   */
  public static final class Detail {
    private final String typeUrl;
    private final byte[] value;

    /** A detail; {@code value} is copied. */
    public Detail(String typeUrl, byte[] value) {
      this.typeUrl = Objects.requireNonNull(typeUrl, "typeUrl");
      this.value = value.clone();
    }

    /** The URL of the type. */
    public String typeUrl() {
      return typeUrl;
    }

    /** A copy of the value. */
    public byte[] value() {
      return value.clone();
    }

    @Override
    public boolean equals(@Nullable Object other) {
      return other instanceof Detail that
          && typeUrl.equals(that.typeUrl)
          && Arrays.equals(value, that.value);
    }

    @Override
    public int hashCode() {
      return typeUrl.hashCode() * 31 + Arrays.hashCode(value);
    }

    @Override
    public String toString() {
      return typeUrl + " of " + value.length + " bytes";
    }
  }
}
