package io.trunkcall.internal.wire;

/** A fault that ends the connection (protocol.md 11.6). */
final class ConnectionFault extends Fault {
  private static final long serialVersionUID = 1L;

  ConnectionFault(ErrorClass kind, String text) {
    super(kind, text);
  }
}
