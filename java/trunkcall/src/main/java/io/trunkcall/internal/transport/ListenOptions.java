package io.trunkcall.internal.transport;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * How a listener listens.
 *
 * @param tls null: in the clear
 * @param allowCleartext whether clients may do without the TLS that is configured
 * @param origins pages that may open WebSockets besides the server's own; "*": all. Null: there are
 *     no WebSockets
 * @param protocols beside the native one, in the order in which they are asked
 * @param places for connections, which listeners may share
 * @param proxied whether each connection over TCP begins with a header of the PROXY protocol
 */
public record ListenOptions(
    @Nullable TlsSource tls,
    boolean allowCleartext,
    @Nullable List<String> origins,
    List<Protocol> protocols,
    Places places,
    boolean proxied) {
  /** Connections from one remote address (limits.md 2). */
  public static final int PER_ADDRESS = 16_384;

  /** In the clear, without WebSockets, with the default limits. */
  public static ListenOptions plain() {
    Places places = new Places(Integer.MAX_VALUE, PER_ADDRESS);
    return new ListenOptions(null, false, null, List.of(), places, false);
  }

  /** With TLS. */
  public ListenOptions tls(@Nullable TlsSource tls, boolean allowCleartext) {
    return new ListenOptions(tls, allowCleartext, origins, protocols, places, proxied);
  }

  /** With WebSockets, for pages of these origins. */
  public ListenOptions origins(@Nullable List<String> origins) {
    return new ListenOptions(tls, allowCleartext, origins, protocols, places, proxied);
  }

  /** With more protocols. */
  public ListenOptions protocols(List<Protocol> protocols) {
    return new ListenOptions(tls, allowCleartext, origins, protocols, places, proxied);
  }

  /** With limits of connections: in all, and from one remote address. */
  public ListenOptions limits(int most, int mostPerAddress) {
    Places limited = new Places(most, mostPerAddress);
    return new ListenOptions(tls, allowCleartext, origins, protocols, limited, proxied);
  }

  /** Behind a proxy that says whose connections it passes on, or not. */
  public ListenOptions proxied(boolean proxied) {
    return new ListenOptions(tls, allowCleartext, origins, protocols, places, proxied);
  }
}
