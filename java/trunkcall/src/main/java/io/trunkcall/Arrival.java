package io.trunkcall;

import java.time.Duration;
import javax.net.ssl.SSLSession;
import org.jspecify.annotations.Nullable;

/**
 * A call as admission sees it.
 *
 * @param method its name and kind
 * @param metadata the metadata of the request
 * @param peer the caller's address
 * @param protocol what the call came by: {@code trunk}, {@code grpc}, {@code grpc-web}, {@code
 *     connect}, or the name of a {@link Protocol} of the server's own
 * @param authority the host, and perhaps port, that a caller by HTTP asked for; empty for others
 * @param timeRemaining until its deadline; null if there is none
 * @param tls the connection's, which has the client's certificate if it showed one; null in the
 *     clear
 */
public record Arrival(
    Method<?, ?> method,
    Metadata metadata,
    String peer,
    String protocol,
    String authority,
    @Nullable Duration timeRemaining,
    @Nullable SSLSession tls) {}
