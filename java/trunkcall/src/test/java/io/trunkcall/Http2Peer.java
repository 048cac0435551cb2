package io.trunkcall;

import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.DefaultHttp2HeadersDecoder;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2Headers;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

/** A client of HTTP/2 that sends the frames it is told to, and none besides. */
final class Http2Peer implements AutoCloseable {
  static final int DATA = 0;
  static final int HEADERS = 1;
  static final int PRIORITY = 2;
  static final int RESET = 3;
  static final int SETTINGS = 4;
  static final int PING = 6;
  static final int GOAWAY = 7;
  static final int WINDOW_UPDATE = 8;
  static final int CLOSED = -1; // stands behind the last frame
  static final int END = 1; // of a stream; or an acknowledgement
  static final int END_HEADERS = 4;

  static final int PROTOCOL_ERROR = 1;
  static final int REFUSED_STREAM = 7;
  static final int ENHANCE_YOUR_CALM = 11;
  static final int INADEQUATE_SECURITY = 12;

  /** A frame; of HEADERS its fields. */
  record Frame(int type, int flags, int stream, byte[] payload, Map<String, String> fields) {
    boolean is(int wanted, int of) {
      return type == wanted && stream == of;
    }

    boolean ends() {
      return (flags & END) != 0;
    }

    /** The error of RST_STREAM and GOAWAY. */
    int error() {
      return ByteBuffer.wrap(payload).getInt(type == GOAWAY ? 4 : 0);
    }

    String field(String name) {
      return fields.getOrDefault(name, "");
    }
  }

  private final Socket socket;
  private final LinkedBlockingQueue<Frame> frames = new LinkedBlockingQueue<>();

  /** Connects, says how much a stream's window is to be, and takes in what the server says. */
  Http2Peer(Server server, int window) throws IOException {
    this(server, window, new byte[0]);
  }

  /** The same; these bytes follow the preface and SETTINGS at once. */
  Http2Peer(Server server, int window, byte[] first) throws IOException {
    socket = new Socket(InetAddress.getLoopbackAddress(), server.port());
    socket.setTcpNoDelay(true);
    ByteArrayOutputStream begin = new ByteArrayOutputStream();
    begin.writeBytes(begin(window));
    begin.writeBytes(first);
    write(begin.toByteArray());
    Thread reader = new Thread(this::read, "http2-peer");
    reader.setDaemon(true);
    reader.start();
    await(frame -> frame.type == SETTINGS && !frame.ends(), "the server's SETTINGS");
    write(frame(SETTINGS, END, 0, new byte[0]));
  }

  /** The preface, and SETTINGS that say how much a stream's window is to be. */
  static byte[] begin(int window) {
    ByteArrayOutputStream begin = new ByteArrayOutputStream();
    begin.writeBytes("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
    byte[] setting = ByteBuffer.allocate(6).putShort((short) 4).putInt(window).array();
    begin.writeBytes(frame(SETTINGS, 0, 0, setting));
    return begin.toByteArray();
  }

  private void read() {
    try {
      DefaultHttp2HeadersDecoder decoder = new DefaultHttp2HeadersDecoder(false);
      DataInputStream in = new DataInputStream(socket.getInputStream());
      while (true) {
        int length = in.readUnsignedByte() << 16 | in.readUnsignedShort();
        int type = in.readUnsignedByte();
        int flags = in.readUnsignedByte();
        int stream = in.readInt();
        byte[] payload = in.readNBytes(length);
        Map<String, String> fields = new LinkedHashMap<>();
        if (type == HEADERS) {
          Http2Headers headers = decoder.decodeHeaders(stream, Unpooled.wrappedBuffer(payload));
          headers.forEach(one -> fields.put(one.getKey().toString(), one.getValue().toString()));
        }
        frames.add(new Frame(type, flags, stream, payload, fields));
      }
    } catch (IOException | Http2Exception over) {
      frames.add(new Frame(CLOSED, 0, 0, new byte[0], Map.of()));
    }
  }

  /** The next frame that is wanted; others before it are dropped. */
  Frame await(Predicate<Frame> wanted, String what) {
    try {
      while (true) {
        Frame next = frames.poll(Pair.PATIENCE.toSeconds(), TimeUnit.SECONDS);
        if (next == null || (next.type == CLOSED && !wanted.test(next))) {
          throw new AssertionError(
              what
                  + ": "
                  + (next == null ? "it did not come" : "the connection was closed before"));
        }
        if (wanted.test(next)) {
          return next;
        }
      }
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  /** The next frame of a type on a stream. */
  Frame await(int type, int stream) {
    return await(frame -> frame.is(type, stream), "frame " + type + " on stream " + stream);
  }

  /** The end of a stream: HEADERS or DATA with END, or its reset. */
  Frame end(int stream) {
    return await(
        frame ->
            frame.stream == stream
                && (frame.type == RESET || (frame.type <= HEADERS && frame.ends())),
        "the end of stream " + stream);
  }

  /** Sends a PING and waits for its answer: all that was sent before has been taken in. */
  void sync() throws IOException {
    write(frame(PING, 0, 0, new byte[8]));
    await(frame -> frame.type == PING && frame.ends(), "the answer to PING");
  }

  void write(byte[] bytes) throws IOException {
    socket.getOutputStream().write(bytes);
  }

  /** Opens a call of gRPC. */
  void call(int stream, String path) throws IOException {
    write(request(stream, path, 0));
  }

  /** Opens a call of gRPC with its only message. */
  void call(int stream, String path, byte[] message) throws IOException {
    call(stream, path);
    write(message(stream, message, END));
  }

  /** The head of a request, of gRPC unless the fields say otherwise. */
  static byte[] request(int stream, String path, int flags, String... more) {
    ByteArrayOutputStream block = new ByteArrayOutputStream();
    field(block, ":method", "POST");
    field(block, ":scheme", "http");
    field(block, ":path", path);
    field(block, ":authority", "test");
    if (!Arrays.asList(more).contains("content-type")) {
      field(block, "content-type", "application/grpc+raw");
    }
    field(block, "te", "trailers");
    for (int at = 0; at < more.length; at += 2) {
      field(block, more[at], more[at + 1]);
    }
    return frame(HEADERS, flags | END_HEADERS, stream, block.toByteArray());
  }

  private static void field(ByteArrayOutputStream block, String name, String value) {
    block.write(0); // a literal that is not indexed
    text(block, name);
    text(block, value);
  }

  private static void text(ByteArrayOutputStream block, String text) {
    int length = text.length();
    block.write(Math.min(length, 127));
    for (int rest = length - 127; rest >= 0; rest = rest >> 7 == 0 ? -1 : rest >> 7) {
      block.write(rest < 128 ? rest : rest & 127 | 128);
    }
    block.writeBytes(text.getBytes(StandardCharsets.US_ASCII));
  }

  /** A message of gRPC in frames of DATA, the last with these flags. */
  static byte[] message(int stream, byte[] message, int flags) {
    byte[] body = ByteBuffer.allocate(5 + message.length).putInt(1, message.length).array();
    System.arraycopy(message, 0, body, 5, message.length);
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    int most = 16_384;
    for (int at = 0; at < body.length; at += most) {
      int end = Math.min(at + most, body.length);
      byte[] piece = Arrays.copyOfRange(body, at, end);
      all.writeBytes(frame(DATA, end == body.length ? flags : 0, stream, piece));
    }
    return all.toByteArray();
  }

  static byte[] frame(int type, int flags, int stream, byte[] payload) {
    return ByteBuffer.allocate(9 + payload.length)
        .putShort((short) (payload.length >> 8))
        .put((byte) payload.length)
        .put((byte) type)
        .put((byte) flags)
        .putInt(stream)
        .put(payload)
        .array();
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
