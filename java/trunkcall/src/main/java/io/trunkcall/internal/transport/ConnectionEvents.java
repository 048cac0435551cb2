package io.trunkcall.internal.transport;

import io.trunkcall.internal.wire.Events;

/**
 * What the layer above is told of one connection, beside the events of its session. All on the
 * connection's loop, except {@link #reliefAsked}.
 */
public interface ConnectionEvents extends Events {
  /**
   * The transport is there, with TLS its handshake is done; the peer has not been heard of. Ahead
   * of every event of the session.
   */
  void connected(Carrier carrier);

  /** The transport is gone. All calls have ended before. Once, after {@link #connected}. */
  void disconnected(String why);

  /** What {@link #connected} was told. */
  Carrier carrier();

  @Override
  default void relieved() {
    carrier().schedule();
  }

  @Override
  default void reliefAsked() {
    carrier().relieve();
  }
}
