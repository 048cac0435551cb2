package io.trunkcall;

import java.time.Duration;
import java.time.temporal.ChronoUnit;
import org.jspecify.annotations.Nullable;

/**
 * One attempt of a call, once it was given to a connection. An observer is told of its begin and of
 * its end with the same object.
 */
public final class CallAttempt {
  private final Method<?, ?> method;
  private final int number;
  private final @Nullable Endpoint endpoint;
  private final String peer;
  private final long queued; // µs
  private final long first; // bytes that went with the begin
  @Nullable ToldAttempt end; // once it has ended

  CallAttempt(
      Method<?, ?> method,
      int number,
      @Nullable Endpoint endpoint,
      String peer,
      long queued,
      long first) {
    this.method = method;
    this.number = number;
    this.endpoint = endpoint;
    this.peer = peer;
    this.queued = queued;
    this.first = first;
  }

  /** What is called. */
  public Method<?, ?> method() {
    return method;
  }

  /**
   * 1, or 2 where the client makes a call once more that provably was not run; more where a policy
   * file has it made again.
   */
  public int number() {
    return number;
  }

  /** Where it goes; null for the calls of a server to its clients. */
  public @Nullable Endpoint endpoint() {
    return endpoint;
  }

  /** The address of the other end. */
  public String peer() {
    return peer;
  }

  /** From when the attempt was wanted until it was given to a connection. */
  public Duration queued() {
    return Duration.of(queued, ChronoUnit.MICROS);
  }

  /** Bytes of messages, as sent; of the first one before the end. */
  public long sent() {
    return end == null ? first : end.sent();
  }

  /** Bytes of messages, as received; zero before the end. */
  public long received() {
    return end == null ? 0 : end.received();
  }

  /** From when it was given to a connection to its end; zero before. */
  public Duration duration() {
    return end == null ? Duration.ZERO : end.took();
  }

  /** How it ended, with its delivery; null before. */
  public @Nullable Status status() {
    return end == null ? null : end.status();
  }
}
