package io.trunkcall;

/** How a client stands with an endpoint. */
public enum State {
  /** No connection, and none wanted so far. */
  IDLE,
  /** The first attempt to connect is under way, or the first since the last connection. */
  CONNECTING,
  /** Calls can be made. */
  READY,
  /** The last attempt failed; it is tried again by itself. */
  FAILING
}
