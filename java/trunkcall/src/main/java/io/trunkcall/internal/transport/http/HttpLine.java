package io.trunkcall.internal.transport.http;

import io.trunkcall.internal.transport.Line;
import io.trunkcall.internal.wire.Share;

/** A connection of HTTP, as its requests have it. On its loop. */
public interface HttpLine extends Line {
  /** What it speaks, as TLS negotiates it: {@code h2} or {@code http/1.1}. */
  String protocol();

  /** How it is served. */
  HttpConfig config();

  /** Who is told of it. */
  HttpEvents events();

  /** Requests that are open, with handlers that outlive theirs. */
  int calls();

  /** Bytes that wait to be written. */
  long unsentBytes();

  /** Bytes of requests that are held. */
  default long heldBytes() {
    return share().held();
  }

  /** The connection has reached its age. */
  void retire();

  /** What it has of the memory of all. */
  Share share();
}
