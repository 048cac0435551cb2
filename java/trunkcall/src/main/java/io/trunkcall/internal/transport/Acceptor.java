package io.trunkcall.internal.transport;

import io.trunkcall.internal.wire.MethodTable;
import io.trunkcall.internal.wire.SessionConfig;

/** What a listener gives its connections to. Called on the loops of the connections. */
public interface Acceptor {
  /** The user of a new native connection. */
  ConnectionEvents accept();

  /** What the sessions are configured with. */
  SessionConfig config();

  /** The methods that are served. */
  MethodTable methods();

  /** A connection was turned away, or has told nothing that is served; for logs. */
  void rejected(String remote, String why);

  /** For how long nothing is accepted, and why; for logs. */
  void paused(String why);
}
