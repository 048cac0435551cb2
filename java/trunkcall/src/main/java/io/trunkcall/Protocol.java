package io.trunkcall;

/**
 * Another way by which calls come to a server, beside Trunkcall's own, gRPC, gRPC-Web, Connect and
 * WebSocket. This interface is enough for one without a listener, such as a message broker's: it
 * hands the calls that it takes from there to {@link IncomingCalls}. A {@link PortProtocol} is one
 * that clients speak on the server's port.
 *
 * <p>Calls of all protocols are served alike: the server's methods, codecs, interceptors,
 * admission, deadlines, statuses and limits hold. Messages that {@link Exchange#receive} has given
 * count against the server's memory until the handler has them; what a protocol holds before does
 * not.
 */
public interface Protocol {
  /** For logs, {@link Arrival#protocol} and {@link Connection#protocol}. */
  String name();

  /**
   * Called once, before the server serves anything. What it throws, {@link Server#listen} and
   * {@link Server#start} throw; it is then called again with the next.
   */
  default void start(IncomingCalls calls) throws Exception {}

  /**
   * Called once, on a thread of its own, when the server takes no more calls: those handed over
   * from then on are refused. The server waits for it: it returns when the calls that were taken
   * are answered. It is interrupted when the grace ends, since what still runs then is cut off.
   */
  default void stop() throws Exception {}
}
