package io.trunkcall.internal.transport;

import io.netty.channel.Channel;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** How many connections a server has, in all and from each address (limits.md 2). */
final class Places {
  private static final int TOLD = 64; // that are told at a time that there is no place for them

  private final int most;
  private final int mostPerAddress;
  private final AtomicInteger taken = new AtomicInteger();
  private final AtomicInteger told = new AtomicInteger();
  private final ConcurrentHashMap<String, Integer> byAddress = new ConcurrentHashMap<>();

  Places(int most, int mostPerAddress) {
    this.most = most;
    this.mostPerAddress = mostPerAddress;
  }

  /** Takes one place of all until the channel is closed. Says why there is none. */
  @Nullable String take(Channel channel) {
    if (taken.incrementAndGet() > most) {
      taken.decrementAndGet();
      return "the server has its " + most + " connections (connections of a server)";
    }
    channel.closeFuture().addListener(done -> taken.decrementAndGet());
    return null;
  }

  /** Takes one of those of an address until the channel is closed. Says why there is none. */
  @Nullable String take(Channel channel, @Nullable SocketAddress remote) {
    String from = from(remote);
    if (from.isEmpty()) {
      return null;
    }
    if (byAddress.merge(from, 1, Integer::sum) > mostPerAddress) {
      release(from);
      return "there are %d connections from this address (connections from one address)"
          .formatted(mostPerAddress);
    }
    channel.closeFuture().addListener(done -> release(from));
    return null;
  }

  private void release(String from) {
    byAddress.computeIfPresent(from, (key, count) -> count == 1 ? null : count - 1);
  }

  /** Whether one without a place is told so: few at a time are. */
  boolean takeTold(Channel channel) {
    if (told.incrementAndGet() > TOLD) {
      told.decrementAndGet();
      return false;
    }
    channel.closeFuture().addListener(done -> told.decrementAndGet());
    return true;
  }

  /** Whom a connection counts to: an address of IPv4, the first 64 bits of one of IPv6. */
  private static String from(@Nullable SocketAddress remote) {
    if (!(remote instanceof InetSocketAddress inet) || inet.getAddress() == null) {
      return "";
    }
    InetAddress address = inet.getAddress();
    byte[] bytes = address.getAddress();
    return HexFormat.of()
        .formatHex(address instanceof Inet6Address ? Arrays.copyOf(bytes, 8) : bytes);
  }
}
