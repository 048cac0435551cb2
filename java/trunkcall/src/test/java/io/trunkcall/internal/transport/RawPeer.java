package io.trunkcall.internal.transport;

import io.trunkcall.internal.wire.ErrorClass;
import io.trunkcall.internal.wire.Session;
import io.trunkcall.internal.wire.SessionConfig;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletableFuture;

/** A socket that does what no connection of ours does, and the bytes of a session to do it with. */
final class RawPeer implements AutoCloseable {
  final Socket socket;

  RawPeer(int port) throws IOException {
    socket = new Socket(InetAddress.getLoopbackAddress(), port);
    socket.setTcpNoDelay(true);
    socket.setSoTimeout((int) Wait.PATIENCE * 1_000);
  }

  void write(byte[] bytes) throws IOException {
    socket.getOutputStream().write(bytes);
  }

  void write(String text) throws IOException {
    write(text.getBytes(StandardCharsets.ISO_8859_1));
  }

  /** What comes until the other side ends its output. */
  byte[] readAll() throws IOException {
    return socket.getInputStream().readAllBytes();
  }

  String readText() throws IOException {
    return new String(readAll(), StandardCharsets.ISO_8859_1);
  }

  byte[] read(int length) throws IOException {
    byte[] found = socket.getInputStream().readNBytes(length);
    if (found.length < length) {
      throw new EOFException("the other side has closed");
    }
    return found;
  }

  /** Ends the connection by a reset. */
  void reset() throws IOException {
    socket.setSoLinger(true, 0);
    socket.close();
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }

  /** A client's session without a transport. */
  static final class Client extends TestEnd {
    final Session session =
        new Session(this, true, Clock.micros(), SessionConfig.builder().build(), TestEnd.METHODS);

    CompletableFuture<byte[]> ask(byte[] message) {
      CompletableFuture<byte[]> answer = new CompletableFuture<>();
      session.unary(ECHO, message, 0, message.length, 0, 0, answer);
      return answer;
    }

    @Override
    public void failed(ErrorClass kind, String text) {
      failed.complete(text);
    }

    /** What it has to say. */
    byte[] output() {
      ByteArrayOutputStream all = new ByteArrayOutputStream();
      while (session.take((array, offset, length, lasting) -> all.write(array, offset, length))
          > 0) {
        // until there is nothing more
      }
      return all.toByteArray();
    }

    void input(byte[] bytes) {
      session.receive(bytes, 0, bytes.length, Clock.micros());
      session.dispatch(Clock.micros());
    }
  }
}
