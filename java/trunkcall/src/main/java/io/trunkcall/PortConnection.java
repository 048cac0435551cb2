package io.trunkcall;

import io.trunkcall.internal.transport.PortLine;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * A connection that a {@link PortProtocol} serves, with TLS decrypted. Bytes that were read to
 * recognise the protocol are read again. Its streams may be used by one thread each, which waits in
 * them; they need not be closed.
 */
public final class PortConnection {
  final ProtocolEnd end;
  private final PortLine line;
  private final CompletableFuture<@Nullable Void> ending = new CompletableFuture<>();

  PortConnection(ProtocolEnd end, PortLine line) {
    this.end = end;
    this.line = line;
  }

  /** What comes. */
  public InputStream input() {
    return line.input();
  }

  /**
   * What goes: what is written is sent when {@code write} returns. A peer that takes none of it for
   * the keepalive interval and its answer together, at least 60 s, is disconnected, and {@code
   * write} throws {@link java.io.IOException}.
   */
  public OutputStream output() {
    return line.output();
  }

  /** What handlers find as {@link ServerCall#connection}: its addresses, and those of TLS. */
  public Connection connection() {
    return end.caller();
  }

  /**
   * Done when the server is stopped, or the connection has reached its maximum age. On an event
   * loop: what follows must not wait, such as for {@link #output}.
   */
  public CompletableFuture<@Nullable Void> ending() {
    return ending.copy();
  }

  /** Has {@link #input} end behind what has come already, so that who waits in it goes on. */
  public void endInput() {
    line.endInput();
  }

  void isToEnd() {
    ending.complete(null);
  }
}
