package io.trunkcall.internal.transport;

import io.netty.channel.EventLoop;
import javax.net.ssl.SSLSession;
import org.jspecify.annotations.Nullable;

/** A connection as the layer above has it, whichever protocol it speaks. */
public interface Line {
  // For any thread.

  /** The loop that owns the connection. */
  EventLoop loop();

  /**
   * Has work done on the loop, in order, with what other threads hand over until then; what it
   * appends is written behind all of it. It is done, too, when the connection is {@link #lost}.
   */
  void submit(Runnable work);

  /** The address of the other end, empty if it has none. */
  String remote();

  /** The address of this end, empty if it has none. */
  String local();

  /** What TLS has agreed on, null in the clear. */
  @Nullable SSLSession tls();

  /** When the handshake began, by {@link Clock}. */
  long began();

  // On the loop.

  /** Writes what was appended, at the end of this batch or in the next turn of the loop. */
  void schedule();

  /** Whether the transport is gone. */
  boolean lost();

  /** What the transport was lost by, if that was a fault of its own. */
  @Nullable Throwable fault();

  /** Asks the peer to make no more calls; closes when all are done. */
  void drain();

  /** Ends what is still open, tells the peer so, and closes. */
  void graceOver();

  /** Closes at once; what is unsent is dropped. */
  void abort(String why);
}
