package io.trunkcall.grpc;

import io.grpc.Attributes;
import io.grpc.Grpc;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.UnixDomainSocketAddress;
import java.util.regex.Pattern;
import javax.net.ssl.SSLSession;
import org.jspecify.annotations.Nullable;

/** Addresses as gRPC's attributes have them. */
final class Places {
  private static final String UNIX = "unix:";
  private static final Pattern LITERAL = Pattern.compile("[0-9.]+");

  private Places() {}

  /** Adds what is known of a connection. */
  static void describe(Attributes.Builder to, String local, @Nullable SSLSession tls) {
    SocketAddress here = of(local);
    if (here != null) {
      to.set(Grpc.TRANSPORT_ATTR_LOCAL_ADDR, here);
    }
    if (tls != null) {
      to.set(Grpc.TRANSPORT_ATTR_SSL_SESSION, tls);
    }
  }

  /** The address that a text names; null for one that is no socket's, such as in memory. */
  static @Nullable SocketAddress of(String text) {
    if (text.startsWith(UNIX)) {
      String path = text.substring(UNIX.length());
      return path.isEmpty() ? null : UnixDomainSocketAddress.of(path);
    }
    int colon = text.lastIndexOf(':');
    if (colon < 0) {
      return null;
    }
    String host = text.substring(0, colon);
    try {
      int port = Integer.parseInt(text.substring(colon + 1));
      boolean literal = host.startsWith("[") || LITERAL.matcher(host).matches();
      return literal
          ? new InetSocketAddress(host, port) // no name, so nothing is looked up
          : InetSocketAddress.createUnresolved(host, port);
    } catch (IllegalArgumentException e) {
      return null;
    }
  }
}
