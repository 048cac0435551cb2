package io.trunkcall.zookeeper;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;

/** Finds out why no host is reached. */
final class Refusals {
  private static final int SOON = 1_000; // ms for a connection

  private Refusals() {}

  /** Why each of these HOST:PORT refuses connections; empty unless all are known to. */
  static String of(List<String> hosts) {
    List<String> told = new ArrayList<>();
    for (String host : hosts) {
      String refusal = of(host);
      if (refusal.isEmpty()) {
        return "";
      }
      told.add(host + ": " + refusal);
    }
    return String.join(", ", told);
  }

  private static String of(String host) {
    int colon = host.lastIndexOf(':');
    int port = Integer.parseInt(host.substring(colon + 1));
    String refusal = "";
    InetAddress[] addresses;
    try {
      addresses = InetAddress.getAllByName(host.substring(0, colon));
    } catch (UnknownHostException unknown) {
      return "unknown host";
    }
    for (InetAddress address : addresses) {
      try (Socket socket = new Socket()) {
        socket.connect(new InetSocketAddress(address, port), SOON);
        return "";
      } catch (SocketTimeoutException silent) { // it may still answer
        return "";
      } catch (IOException refused) {
        refusal = String.valueOf(refused.getMessage());
      }
    }
    return refusal;
  }
}
