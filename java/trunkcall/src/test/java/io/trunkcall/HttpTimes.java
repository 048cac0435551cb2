package io.trunkcall;

import static io.trunkcall.Http2Peer.RESET;
import static io.trunkcall.Pair.until;

import java.io.IOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** What tests of times over HTTP have in common: a server with a clock that they set. */
abstract class HttpTimes {
  static final int WINDOW = 65_535;
  static final long TICK = 20_000; // µs
  static final Method<byte[], byte[]> CALL = Method.unary("/t.S/Call", Codec.raw(), Codec.raw());
  static final Method<byte[], byte[]> LIST =
      Method.serverStream("/t.S/List", Codec.raw(), Codec.raw());
  static final String POST =
      "POST /t.S/Call HTTP/1.1\r\nHost: x\r\nContent-Type: application/raw\r\n";

  final Ahead clock = new Ahead();
  private int ticks;

  Pair pair(Handler... handlers) throws IOException {
    return pair(server -> server.serve(handlers));
  }

  Pair pair(Consumer<ServerBuilder> serves) throws IOException {
    return new Pair(
        server -> {
          serves.accept(server);
          server.clock = clock;
          server.tick = TICK;
        },
        client -> {});
  }

  static Handler echo() {
    return Handler.unary(CALL, (request, call) -> request);
  }

  /** Answers with so many bytes. */
  static Handler gives(int bytes) {
    return Handler.unary(CALL, (request, call) -> new byte[bytes]);
  }

  /** Sets the clock forward again and again until something has come. */
  <T> void later(String what, Supplier<T> comes, Duration step, Consumer<T> then) {
    CompletableFuture<T> come = CompletableFuture.supplyAsync(comes);
    AtomicLong next = new AtomicLong(System.nanoTime());
    until(
        () -> {
          if (System.nanoTime() >= next.get()) {
            clock.by(step);
            next.addAndGet(Duration.ofSeconds(1).toNanos());
          }
          return come.isDone();
        },
        what + " has not come");
    then.accept(come.join());
  }

  /** Waits until the server has looked at its times: it resets what stays behind its answer. */
  void ticked(Http2Peer peer) throws IOException {
    int id = 1_001 + 2 * ticks++;
    peer.write(Http2Peer.request(id, "/t.S/None", 0)); // answered before its end
    peer.await(frame -> frame.stream() == id && frame.type() == RESET, "a look at times");
  }

  static String rest(Socket socket) {
    try {
      return new String(socket.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1);
    } catch (IOException e) {
      return "";
    }
  }

  /** Reads an answer up to its body. */
  static String answer(Socket socket, String body) throws IOException {
    return upTo(socket, "\r\n\r\n" + body);
  }

  static String upTo(Socket socket, String end) throws IOException {
    StringBuilder all = new StringBuilder();
    while (!all.toString().endsWith(end)) {
      int one = socket.getInputStream().read();
      if (one < 0) {
        throw new IOException("closed behind " + all);
      }
      all.append((char) one);
    }
    return all.toString();
  }
}
