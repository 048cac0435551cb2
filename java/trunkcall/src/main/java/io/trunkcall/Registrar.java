package io.trunkcall;

import java.util.concurrent.CompletionStage;

/**
 * Publishes where a server is found: {@code io.trunkcall.registry.Registrar} is one. Its methods
 * may be called by any thread, and do not wait.
 */
public interface Registrar {
  /**
   * Called when the server listens, and again when it listens on more, or when more methods are
   * registered while it listens: the server has the addresses and the services. Called also when
   * listening has failed because another registrar refused it: without addresses nothing is to stay
   * published.
   *
   * @throws RuntimeException with which {@link Server#start} or {@link Server#listen} fails
   */
  void publish(Server server);

  /**
   * Takes back what was published, when the server is about to stop; called once. Calls go on until
   * that is done, for 5 seconds at most, and soon after where the server is closed.
   */
  CompletionStage<?> withdraw();
}
