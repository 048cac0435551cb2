package io.trunkcall.internal.client;

import io.trunkcall.Endpoint;
import org.jspecify.annotations.Nullable;

/** What a client is told by the keeping of its endpoints, on its loop. */
public interface Listener {
  /** Endpoints or their connections have changed: calls that wait for a connection look again. */
  void changed();

  /** What waits for a slot of an endpoint's connections, to be kept with it. */
  Object slots(ClientEndpoint endpoint);

  /** Connections of an endpoint have changed: calls that wait for its slots look again. */
  void tryAgain(ClientEndpoint endpoint);

  /** An attempt to connect has failed, or a connection that was hardly there has ended. */
  void connectFailed(Endpoint endpoint, String why);

  /** Something to be logged. */
  void log(System.Logger.Level level, String text, @Nullable Throwable fault);
}
