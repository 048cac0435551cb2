package io.trunkcall;

import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What a {@link Protocol} says of a call that it hands over.
 *
 * @param method its name, {@code /package.Service/Method}
 * @param codec the number of the codec of its messages, such as {@link Codec#JSON}
 * @param metadata what goes with the request
 * @param timeout until its deadline; null: it has none
 * @param authority the host, and perhaps port, that the caller asked for; empty: it said none
 * @param peer the caller's address, empty for that of the connection
 * @param connection the connection that it came by, whose end cancels it; null: by none
 */
public record IncomingCall(
    String method,
    int codec,
    Metadata metadata,
    @Nullable Duration timeout,
    String authority,
    String peer,
    @Nullable PortConnection connection) {
  /** See above. */
  public IncomingCall {
    Objects.requireNonNull(method, "method");
    Objects.requireNonNull(metadata, "metadata");
    Objects.requireNonNull(authority, "authority");
    Objects.requireNonNull(peer, "peer");
  }

  /** A call of a method, with messages in the codec of this number. */
  public static IncomingCall of(String method, int codec) {
    return new IncomingCall(method, codec, Metadata.EMPTY, null, "", "", null);
  }

  /** The same with metadata. */
  public IncomingCall withMetadata(Metadata given) {
    return new IncomingCall(method, codec, given, timeout, authority, peer, connection);
  }

  /** The same with a deadline so far away. */
  public IncomingCall withTimeout(Duration given) {
    return new IncomingCall(method, codec, metadata, given, authority, peer, connection);
  }

  /** The same with the host that the caller asked for. */
  public IncomingCall withAuthority(String given) {
    return new IncomingCall(method, codec, metadata, timeout, given, peer, connection);
  }

  /** The same with the caller's address. */
  public IncomingCall withPeer(String given) {
    return new IncomingCall(method, codec, metadata, timeout, authority, given, connection);
  }

  /** The same by a connection. */
  public IncomingCall withConnection(PortConnection given) {
    return new IncomingCall(method, codec, metadata, timeout, authority, peer, given);
  }
}
