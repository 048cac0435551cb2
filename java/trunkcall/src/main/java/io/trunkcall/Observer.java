package io.trunkcall;

/**
 * Is told what happens to listeners and connections. The functions are called on threads that do
 * nothing else: in order for one connection, at once for different ones. A function that blocks
 * delays only the events of its own connection, as long as no more than 256 block in the process;
 * when 10,000 events wait behind it, further ones are left out, logged and counted ({@link
 * Gauges#droppedEvents}). They may call everything, also {@link Client#close} and {@link
 * Server#stop}, which do not wait for them. What they throw is logged.
 */
public interface Observer {
  /** A server listens on an address. */
  default void listening(String address) {}

  /** An address could not be listened on. */
  default void listenFailed(String where, Throwable error) {}

  /** The other end of a connection has answered as Trunkcall: it can be called from now on. */
  default void connected(Connection connection) {}

  /** An attempt of a client did not come so far; {@code why} names each address that was tried. */
  default void connectFailed(String target, String why) {}

  /** A connection that was connected is lost because its socket could not be read. */
  default void readFailed(Connection connection, Throwable error) {}

  /**
   * A connection that was connected is lost because its socket could not be written. Mostly reading
   * fails first.
   */
  default void writeFailed(Connection connection, Throwable error) {}

  /** A policy file was exchanged while the client or server was there, and holds from now on. */
  default void policyTaken(String file) {}

  /**
   * A policy file is at fault, or cannot be read: {@code why} has each fault with its line. What
   * held before holds on.
   */
  default void policyRefused(String file, String why) {}

  /** A connection that was connected is over: once, and last. */
  default void disconnected(Connection connection, String why) {}
}
