package io.trunkcall;

import java.util.concurrent.Executor;

/** What handlers run on that a client or server has made itself. */
interface HandlerExecutor extends Executor {
  /** Takes nothing more. Its threads end behind what they were given. */
  void shutdown();
}
