package io.trunkcall;

import java.util.Objects;

/**
 * A call that failed. Handlers throw it to choose the code, the message and the details that the
 * caller sees.
 */
public final class StatusException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final transient Status status;
  private final transient Metadata headers;
  private final transient Metadata trailers;
  private final String peer;

  /** A failure with a code and a message for people. */
  public StatusException(Code code, String message) {
    this(Status.of(code, message));
  }

  /** A failure with this status. */
  public StatusException(Status status) {
    this(status, Metadata.EMPTY);
  }

  /** A failure with metadata that goes with it, or came with it. */
  public StatusException(Status status, Metadata trailers) {
    this(status, trailers, Metadata.EMPTY, "");
  }

  /** A failure as a caller is told it: see {@link #headers} and {@link #peer}. */
  public StatusException(Status status, Metadata trailers, Metadata headers, String peer) {
    super(status.toString());
    this.status = status;
    this.trailers = Objects.requireNonNull(trailers, "trailers");
    this.headers = Objects.requireNonNull(headers, "headers");
    this.peer = Objects.requireNonNull(peer, "peer");
  }

  /** How the call ended; never OK at a caller. */
  public Status status() {
    return status;
  }

  /** The code of the status. */
  public Code code() {
    return status.code();
  }

  /** The metadata that came with the failure, or that goes with it. */
  public Metadata trailers() {
    return trailers;
  }

  /** At the caller, the metadata that came ahead of the failure. */
  public Metadata headers() {
    return headers;
  }

  /** At the caller, the address of the side that answered; empty if none did. */
  public String peer() {
    return peer;
  }
}
