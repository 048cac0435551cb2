package io.trunkcall;

import java.util.List;

/** A protocol that clients speak on the server's port. */
public interface PortProtocol extends Protocol {
  /** What the first bytes of a connection say of one protocol. */
  enum Recognition {
    /** They are not its. */
    NO,
    /** They may be: more of them will tell. */
    MORE,
    /** They are. */
    YES
  }

  /**
   * Its names in the negotiation of TLS, none if it is not negotiated. A connection that has
   * negotiated one is served at once: its first bytes are not looked at, so that its server may
   * speak first.
   */
  default List<String> alpn() {
    return List.of();
  }

  /**
   * Judges the first bytes of a connection, 1 to 64 of them, on an event loop: it must not wait.
   * The server's other protocols are asked first, of which HTTP/1.1 takes all that begins with an
   * upper-case letter (unless the server is {@link ServerBuilder#nativeOnly}), then those of {@link
   * ServerBuilder#protocol} in order.
   */
  Recognition recognize(byte[] first);

  /**
   * Serves a connection, on a thread of its own, which may wait. When it returns the connection is
   * closed behind what was written, and calls of it that still run are cancelled. At {@link
   * PortConnection#ending} it should take no more calls, answer those that it has begun, and
   * return. At the end of the grace the connection is closed, and the thread interrupted.
   */
  void serve(PortConnection connection) throws Exception;
}
