package io.trunkcall;

import java.time.Duration;
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
  private final Duration queued;
  long sentBytes;
  long receivedBytes;
  Duration took = Duration.ZERO;
  @Nullable Status ended;

  CallAttempt(
      Method<?, ?> method, int number, @Nullable Endpoint endpoint, String peer, Duration queued) {
    this.method = method;
    this.number = number;
    this.endpoint = endpoint;
    this.peer = peer;
    this.queued = queued;
  }

  /** What is called. */
  public Method<?, ?> method() {
    return method;
  }

  /** 1, or 2 where the client makes a call once more that provably was not run. */
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
    return queued;
  }

  /** Bytes of messages, as sent. */
  public long sent() {
    return sentBytes;
  }

  /** Bytes of messages, as received. */
  public long received() {
    return receivedBytes;
  }

  /** From when it was given to a connection to its end; zero before. */
  public Duration duration() {
    return took;
  }

  /** How it ended, with its delivery; null before. */
  public @Nullable Status status() {
    return ended;
  }
}
