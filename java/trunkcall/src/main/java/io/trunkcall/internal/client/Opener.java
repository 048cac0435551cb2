package io.trunkcall.internal.client;

import io.trunkcall.Endpoint;
import io.trunkcall.internal.transport.Address;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** Opens connections to endpoints (client.md 9.3 to 9.6). */
@FunctionalInterface
public interface Opener {
  /**
   * Opens a connection and tells {@code connector} of it, as soon as there is a transport. The
   * result is completed on the loop, with a connection that may be used. It fails with a message
   * that names each address and its fault. If it is cancelled, on the loop, what was opened is
   * closed.
   */
  CompletableFuture<? extends Link> open(Connector connector, Dialled what);

  /**
   * What is to be dialled.
   *
   * @param greet whether the server is to have greeted before the connection is used
   * @param alone whether the client has no other endpoint to try
   */
  record Dialled(Endpoint endpoint, List<Address> addresses, boolean greet, boolean alone) {}
}
