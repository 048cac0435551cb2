package io.trunkcall.internal.transport.http;

import io.trunkcall.Code;
import org.jspecify.annotations.Nullable;

/**
 * What a connection of HTTP tells the layer above, on its loop. The functions may use the
 * connection and the calls, and must not throw.
 */
public interface HttpEvents {
  /** The connection is up. */
  void connected(HttpLine line);

  /** It is over: once, after {@link #connected}. All calls have ended before. */
  void disconnected(String why);

  /** It ends for what the peer did. */
  void violated(String text);

  /** The method of a name; null: it is not served. */
  @Nullable HttpMethod find(String name);

  /** A handler starts. It counts as running until it has finished, or refused. */
  void start(HttpCall call, HttpMethod method);

  /** A call ends REFUSED, or else CUT, which {@code code} and {@code text} tell its caller. */
  void unserved(String method, boolean refused, Code code, String text);

  /** A running handler's call was ended without it. */
  void stopped(HttpCall call);

  /** A request message is there, or the last has come. */
  void arrived(HttpCall call);

  /** More may be sent. */
  void writable(HttpCall call);
}
