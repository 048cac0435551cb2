package io.trunkcall;

/**
 * What is known of the handler when a call has ended. Only {@link #NOT_SENT} and {@link #REFUSED}
 * are safe to repeat blindly.
 */
public enum Delivery {
  /** The handler may not have run, may have run in part, or to its end. */
  UNKNOWN("unknown"),
  /** Nothing of the call left this side, nor will it. */
  NOT_SENT("not_sent"),
  /** The other side says that the handler did not start and never will for this call. */
  REFUSED("refused"),
  /** The handler ran and gave the status. */
  EXECUTED("executed");

  private final String word;

  Delivery(String word) {
    this.word = word;
  }

  /** The word that logs, metrics and other languages have for it. */
  public String word() {
    return word;
  }
}
