package io.trunkcall.internal.wire;

/** A fault that ends one call (protocol.md 15). */
final class CallFault extends Fault {
  private static final long serialVersionUID = 1L;

  CallFault(ErrorClass kind, String text) {
    super(kind, text);
  }
}
