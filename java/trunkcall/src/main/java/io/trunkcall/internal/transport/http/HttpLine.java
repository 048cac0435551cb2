package io.trunkcall.internal.transport.http;

import io.trunkcall.internal.transport.Line;

/** A connection of HTTP, as its requests have it. On its loop. */
public interface HttpLine extends Line {
  /** How it is served. */
  HttpConfig config();

  /** Who is told of it. */
  HttpEvents events();

  /** Requests that are open, with handlers that outlive theirs. */
  int calls();

  /** Bytes that wait to be written. */
  long unsentBytes();

  /** Bytes of requests that are held. */
  long heldBytes();

  /** The connection has reached its age. */
  void retire();

  /**
   * A call holds so many bytes more, or fewer, for its peer. False: there is no room for them, and
   * they do not count.
   */
  boolean hold(HttpCall call, long more);
}
