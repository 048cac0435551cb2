package io.trunkcall.examples.features;

import io.trunkcall.Client;
import io.trunkcall.Dialer;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

/** Calls a server through a SOCKS5 proxy: Tunnel PROXY SERVER. */
public final class Tunnel {
  private Tunnel() {}

  /** Dials by way of a proxy, which also looks up the names of hosts. */
  static Dialer through(InetSocketAddress proxy) {
    return (address, endpoint) ->
        CompletableFuture.supplyAsync( // a dialer does not block
            () -> {
              try {
                return dial(proxy, address);
              } catch (IOException e) {
                throw new CompletionException(e);
              }
            });
  }

  private static SocketChannel dial(InetSocketAddress proxy, String address) throws IOException {
    int cut = address.lastIndexOf(':');
    byte[] host = address.substring(0, cut).getBytes(StandardCharsets.US_ASCII);
    int port = Integer.parseInt(address.substring(cut + 1));
    SocketChannel opened = SocketChannel.open(proxy);
    try {
      send(opened, 5, 1, 0); // version 5, one way to authenticate: none
      receive(opened, 2);
      ByteBuffer asked = ByteBuffer.allocate(7 + host.length);
      asked.put(new byte[] {5, 1, 0, 3, (byte) host.length}).put(host).putShort((short) port);
      send(opened, asked.array());
      byte answer = receive(opened, 10).get(1);
      if (answer != 0) {
        throw new IOException("the proxy does not connect to " + address + ": " + answer);
      }
      return opened;
    } catch (IOException | RuntimeException e) {
      opened.close();
      throw e;
    }
  }

  private static void send(SocketChannel to, int... bytes) throws IOException {
    byte[] all = new byte[bytes.length];
    for (int at = 0; at < bytes.length; at++) {
      all[at] = (byte) bytes[at];
    }
    send(to, all);
  }

  private static void send(SocketChannel to, byte[] bytes) throws IOException {
    ByteBuffer left = ByteBuffer.wrap(bytes);
    while (left.hasRemaining()) {
      to.write(left);
    }
  }

  private static ByteBuffer receive(SocketChannel from, int count) throws IOException {
    ByteBuffer answer = ByteBuffer.allocate(count);
    while (answer.hasRemaining()) {
      if (from.read(answer) < 0) {
        throw new EOFException("the proxy has closed");
      }
    }
    return answer.flip();
  }

  public static void main(String[] args) {
    int cut = args[0].lastIndexOf(':');
    int port = Integer.parseInt(args[0].substring(cut + 1));
    Dialer dialer = through(new InetSocketAddress(args[0].substring(0, cut), port));
    try (Client client = Client.builder(args[1]).dialer(dialer).build()) {
      System.out.println("found " + client.call(Users.GET, Users.request(7)).getName());
    }
  }
}
