package io.trunkcall.internal.transport;

import io.netty.channel.Channel;
import io.netty.channel.local.LocalAddress;
import io.netty.util.AttributeKey;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import org.jspecify.annotations.Nullable;

/** Addresses of sockets in the form that users write. */
public final class Spelling {
  private static final String MEMORY = "trunkcall-";

  /** The addresses that a proxy has said, in place of those of the socket. */
  static final AttributeKey<SocketAddress> SAID_REMOTE = AttributeKey.valueOf("trunkcall-remote");

  static final AttributeKey<SocketAddress> SAID_LOCAL = AttributeKey.valueOf("trunkcall-local");

  private Spelling() {}

  /** The address of the other end of a channel, empty if it has none. */
  static String remote(Channel channel, Sockets sockets) {
    SocketAddress said = channel.attr(SAID_REMOTE).get();
    return of(said == null ? channel.remoteAddress() : said, sockets);
  }

  /** The address of this end of a channel, empty if it has none. */
  static String local(Channel channel, Sockets sockets) {
    SocketAddress said = channel.attr(SAID_LOCAL).get();
    return of(said == null ? channel.localAddress() : said, sockets);
  }

  /** The address of the other end of a channel that one of our loops owns, empty if it has none. */
  public static String remote(Channel channel) {
    return remote(channel, Loops.of(channel.eventLoop()).sockets);
  }

  /** The address of this end of such a channel, empty if it has none. */
  public static String local(Channel channel) {
    return local(channel, Loops.of(channel.eventLoop()).sockets);
  }

  /** The address of a channel, empty if it has none. */
  static String of(@Nullable SocketAddress address, Sockets sockets) {
    if (address == null) {
      return "";
    }
    if (address instanceof InetSocketAddress inet) {
      String host = inet.getAddress() == null ? "" : inet.getAddress().getHostAddress();
      return Address.tcp(host, inet.getPort()).toString();
    }
    if (address instanceof LocalAddress local) {
      return memory(local);
    }
    String path = sockets.path(address);
    return path == null || path.isEmpty() ? "" : "unix:" + path;
  }

  /** The address of memory of that name. Hexadecimal, since Netty does not tell A from a. */
  static LocalAddress memory(String name) {
    return new LocalAddress(
        MEMORY + HexFormat.of().formatHex(name.getBytes(StandardCharsets.UTF_8)));
  }

  private static String memory(LocalAddress address) {
    if (!address.id().startsWith(MEMORY)) {
      return "";
    }
    byte[] name = HexFormat.of().parseHex(address.id().substring(MEMORY.length()));
    return "mem:" + new String(name, StandardCharsets.UTF_8);
  }
}
