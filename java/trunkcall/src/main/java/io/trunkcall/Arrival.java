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
 * @param protocol what the call came by: {@code trunk}
 * @param timeRemaining until its deadline; null if there is none
 * @param tls the connection's, which has the client's certificate if it showed one; null in the
 *     clear
 */
public record Arrival(
    Method<?, ?> method,
    Metadata metadata,
    String peer,
    String protocol,
    @Nullable Duration timeRemaining,
    @Nullable SSLSession tls) {}
