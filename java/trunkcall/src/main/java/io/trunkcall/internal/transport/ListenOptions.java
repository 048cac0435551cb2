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
 * @param maxConnections at a time
 * @param maxPerAddress connections from one remote address at a time
 */
public record ListenOptions(
    @Nullable TlsSource tls,
    boolean allowCleartext,
    @Nullable List<String> origins,
    List<Protocol> protocols,
    int maxConnections,
    int maxPerAddress) {
  /** Connections from one remote address (limits.md 2). */
  public static final int PER_ADDRESS = 16_384;

  /** In the clear, without WebSockets, with the default limits. */
  public static ListenOptions plain() {
    return new ListenOptions(null, false, null, List.of(), Integer.MAX_VALUE, PER_ADDRESS);
  }

  /** With TLS. */
  public ListenOptions tls(@Nullable TlsSource tls, boolean allowCleartext) {
    return new ListenOptions(
        tls, allowCleartext, origins, protocols, maxConnections, maxPerAddress);
  }

  /** With WebSockets, for pages of these origins. */
  public ListenOptions origins(@Nullable List<String> origins) {
    return new ListenOptions(
        tls, allowCleartext, origins, protocols, maxConnections, maxPerAddress);
  }

  /** With more protocols. */
  public ListenOptions protocols(List<Protocol> protocols) {
    return new ListenOptions(
        tls, allowCleartext, origins, protocols, maxConnections, maxPerAddress);
  }

  /** With limits of connections. */
  public ListenOptions limits(int maxConnections, int maxPerAddress) {
    return new ListenOptions(
        tls, allowCleartext, origins, protocols, maxConnections, maxPerAddress);
  }
}
