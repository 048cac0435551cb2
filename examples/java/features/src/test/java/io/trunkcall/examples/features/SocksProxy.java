package io.trunkcall.examples.features;

import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/** A small SOCKS5 proxy, which finds whatever is asked for on this machine. */
final class SocksProxy implements AutoCloseable {
  final Queue<String> asked = new ConcurrentLinkedQueue<>();
  private final Queue<Socket> open = new ConcurrentLinkedQueue<>();
  private final ServerSocket listener;

  SocksProxy() throws IOException {
    listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    start(
        () -> {
          while (true) {
            Socket client = listener.accept();
            open.add(client);
            start(() -> serve(client));
          }
        });
  }

  String address() {
    return "127.0.0.1:" + listener.getLocalPort();
  }

  private interface Job {
    void run() throws IOException;
  }

  private static void start(Job job) {
    Thread thread =
        new Thread(
            () -> {
              try {
                job.run();
              } catch (IOException e) {
                // One side has closed.
              }
            });
    thread.setDaemon(true);
    thread.start();
  }

  private void serve(Socket client) throws IOException {
    DataInputStream from = new DataInputStream(client.getInputStream());
    from.readNBytes(3);
    client.getOutputStream().write(new byte[] {5, 0});
    from.readNBytes(4);
    asked.add(new String(from.readNBytes(from.readUnsignedByte())));
    Socket server = new Socket(InetAddress.getLoopbackAddress(), from.readUnsignedShort());
    open.add(server);
    client.getOutputStream().write(new byte[] {5, 0, 0, 1, 0, 0, 0, 0, 0, 0});
    start(() -> pump(server, client));
    pump(client, server);
  }

  private static void pump(Socket from, Socket to) throws IOException {
    OutputStream out = to.getOutputStream();
    try (to) {
      from.getInputStream().transferTo(out);
    }
  }

  @Override
  public void close() throws IOException {
    listener.close();
    for (Socket one : open) {
      one.close();
    }
  }
}
