package io.trunkcall.lab.echo;

import io.trunkcall.lab.program.WrongAnswer;
import io.trunkcall.load.Address;
import io.trunkcall.load.Call;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;

/** A connection that one caller has to itself. */
final class Socket implements AutoCloseable {
  private static final int WRITE_SIZE = 64 << 10;
  private static final int READ_SIZE = 256 << 10;

  private final SocketChannel channel;

  private Socket(SocketChannel channel) {
    this.channel = channel;
  }

  static Socket connect(Address target) throws IOException {
    SocketChannel channel = SocketChannel.open();
    channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
    channel.connect(new InetSocketAddress(target.host(), target.port()));
    return new Socket(channel);
  }

  /** One write, then reads until the answer is whole, on the caller's thread. */
  Call pingPong(byte[] payload) {
    ByteBuffer frame = direct(Frame.of(0, payload), 1);
    ByteBuffer answer = ByteBuffer.allocateDirect(frame.capacity());
    return () -> {
      frame.rewind();
      while (frame.hasRemaining()) {
        channel.write(frame);
      }
      answer.clear();
      while (answer.hasRemaining()) {
        read(answer);
      }
      if (!answer.flip().equals(frame.rewind())) {
        throw WrongAnswer.ofBytes(payload.length);
      }
    };
  }

  /**
   * Sends without pause and, in each call, takes one frame of what comes back. Short frames are
   * written many at a time.
   */
  Call stream(byte[] payload) {
    byte[] frame = Frame.of(0, payload);
    ByteBuffer chunk = direct(frame, Math.max(WRITE_SIZE / frame.length, 1));
    Thread sender = new Thread(() -> send(chunk), "sender");
    sender.setDaemon(true);
    sender.start();
    ByteBuffer buffer = ByteBuffer.allocateDirect(READ_SIZE);
    return new Call() {
      private long available;

      @Override
      public void make() throws IOException {
        while (available < frame.length) {
          buffer.clear();
          available += read(buffer);
        }
        available -= frame.length;
      }
    };
  }

  private void send(ByteBuffer chunk) {
    try {
      while (true) {
        channel.write(chunk.rewind());
      }
    } catch (IOException e) {
      // What ends sending ends receiving too, and is told there.
    }
  }

  private int read(ByteBuffer into) throws IOException {
    int read = channel.read(into);
    if (read < 0) {
      throw new EOFException("the server has ended the connection");
    }
    return read;
  }

  private static ByteBuffer direct(byte[] frame, int times) {
    ByteBuffer buffer = ByteBuffer.allocateDirect(frame.length * times);
    for (int i = 0; i < times; i++) {
      buffer.put(frame);
    }
    return buffer;
  }

  @Override
  public void close() throws IOException {
    channel.close();
  }
}
