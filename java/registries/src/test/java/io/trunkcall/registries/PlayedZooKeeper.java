package io.trunkcall.registries;

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;

/**
 * Speaks ZooKeeper's protocol as a server, to those who list the nodes of one folder and read them.
 * A connection ends when all of them were read, or nothing is asked for a moment. It listens on the
 * loopback interface.
 */
final class PlayedZooKeeper implements AutoCloseable {
  private static final int GET = 4;
  private static final int CHILDREN = 8;
  private static final int PING = 11;
  private static final int CLOSE = -11;
  private static final int MOMENT = 500; // ms

  /** What becomes of an answer: of the names of the nodes, and of what a node holds. */
  volatile UnaryOperator<byte[]> names = answer -> answer;

  volatile UnaryOperator<byte[]> node = answer -> answer;
  private final AtomicInteger read = new AtomicInteger();
  private final ServerSocket server;
  private final Collection<Socket> sockets = new ConcurrentLinkedQueue<>();

  PlayedZooKeeper() throws IOException {
    server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    start(this::accept);
  }

  private static void start(Runnable work) {
    Thread thread = new Thread(work, "played-zookeeper");
    thread.setDaemon(true);
    thread.start();
  }

  int port() {
    return server.getLocalPort();
  }

  /** How often the names were taken, so that a node was asked for. */
  int read() {
    return read.get();
  }

  @Override
  public void close() throws IOException {
    server.close();
    for (Socket one : sockets) {
      one.close();
    }
  }

  private void accept() {
    while (true) {
      try {
        Socket socket = server.accept();
        sockets.add(socket);
        start(() -> serve(socket));
      } catch (IOException closed) {
        return;
      }
    }
  }

  private void serve(Socket socket) {
    try (socket) {
      DataInputStream from = new DataInputStream(socket.getInputStream());
      DataOutputStream to = new DataOutputStream(socket.getOutputStream());
      if (begin(from, to)) {
        socket.setSoTimeout(MOMENT);
        answer(from, to);
      }
    } catch (IOException end) {
      // Nothing was asked for a moment, or the client has gone.
    }
  }

  private static byte[] packet(DataInputStream from) throws IOException {
    byte[] whole = new byte[from.readInt()];
    from.readFully(whole);
    return whole;
  }

  /** Begins a session, and none for those that have had one: then it is over. */
  private static boolean begin(DataInputStream from, DataOutputStream to) throws IOException {
    byte[] asked = packet(from);
    boolean first = asked[23] == 0 && asked[16] == 0; // of the id of the session
    ByteArrayOutputStream made = new ByteArrayOutputStream();
    DataOutputStream answer = new DataOutputStream(made);
    answer.writeInt(0);
    answer.writeInt(10_000); // ms for which a session lasts
    answer.writeLong(first ? 1 : 0);
    answer.writeInt(16);
    answer.write(new byte[16]);
    answer.writeBoolean(false);
    to.writeInt(made.size());
    to.write(made.toByteArray());
    return first;
  }

  private void answer(DataInputStream from, DataOutputStream to) throws IOException {
    int left = Spoilt.IDS.size();
    boolean reads = false;
    while (left > 0) {
      DataInputStream asked = new DataInputStream(new java.io.ByteArrayInputStream(packet(from)));
      int number = asked.readInt();
      int what = asked.readInt();
      byte[] said = headed(number, body(what, asked));
      if (what == CHILDREN) {
        said = names.apply(said);
      } else if (what == GET) {
        read.addAndGet(reads ? 0 : 1);
        reads = true;
        left--;
        said = node.apply(said);
      }
      to.writeInt(said.length);
      to.write(said);
      if (what == CLOSE) {
        return;
      }
    }
  }

  private static byte[] headed(int number, byte[] body) throws IOException {
    ByteArrayOutputStream made = new ByteArrayOutputStream();
    DataOutputStream answer = new DataOutputStream(made);
    answer.writeInt(number);
    answer.writeLong(1); // of the last change
    answer.writeInt(0); // it was carried out
    answer.write(body);
    return made.toByteArray();
  }

  private static byte[] body(int what, DataInputStream asked) throws IOException {
    if (what == PING || what == CLOSE) {
      return new byte[0];
    }
    ByteArrayOutputStream made = new ByteArrayOutputStream();
    DataOutputStream answer = new DataOutputStream(made);
    if (what == CHILDREN) {
      List<String> ids = Spoilt.IDS;
      answer.writeInt(ids.size());
      for (String id : ids) {
        answer.writeInt(id.length());
        answer.writeBytes(id);
      }
    } else {
      byte[] path = new byte[Math.max(asked.readInt(), 0)];
      asked.readFully(path);
      String text = new String(path, StandardCharsets.UTF_8);
      byte[] record = Spoilt.record(text.substring(text.lastIndexOf('/') + 1));
      answer.writeInt(record.length);
      answer.write(record);
      answer.write(new byte[68]); // what is known of the node
    }
    return made.toByteArray();
  }
}
