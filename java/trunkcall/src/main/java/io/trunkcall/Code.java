package io.trunkcall;

/** The kinds of ending of a call, with the numbers and meanings of gRPC. */
public enum Code {
  /** Done. */
  OK,
  /** The caller gave up. */
  CANCELLED,
  /** A failure that says no more. */
  UNKNOWN,
  /** The request is wrong, whatever the state of the system. */
  INVALID_ARGUMENT,
  /** Time ran out. */
  DEADLINE_EXCEEDED,
  /** What was asked for is not there. */
  NOT_FOUND,
  /** What was to be created is there. */
  ALREADY_EXISTS,
  /** The caller may not. */
  PERMISSION_DENIED,
  /** A limit was crossed; the message names it and its value. */
  RESOURCE_EXHAUSTED,
  /** Not in this state of the system. */
  FAILED_PRECONDITION,
  /** A conflict: try again from further up. */
  ABORTED,
  /** Past the end. */
  OUT_OF_RANGE,
  /** Not offered here. */
  UNIMPLEMENTED,
  /** Broken: the fault is not the caller's. */
  INTERNAL,
  /** Try again. */
  UNAVAILABLE,
  /** Data is lost for good. */
  DATA_LOSS,
  /** Who are you? */
  UNAUTHENTICATED;

  private static final Code[] BY_NUMBER = values();

  /** Its number on the wire, 0 to 16. */
  @SuppressWarnings("EnumOrdinal") // the constants stand in the order of their numbers
  public int number() {
    return ordinal();
  }

  /** The code of a number; {@link #UNKNOWN} for one that is none. */
  public static Code of(int number) {
    return number >= 0 && number < BY_NUMBER.length ? BY_NUMBER[number] : UNKNOWN;
  }
}
