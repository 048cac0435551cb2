package io.trunkcall.internal.wire;

/** Received bytes that break a rule. The text names what was wrong. */
abstract class Fault extends Exception {
  private static final long serialVersionUID = 1L;

  final ErrorClass kind;

  Fault(ErrorClass kind, String text) {
    super(text, null, false, false); // a peer is at fault: where this side noticed says nothing
    this.kind = kind;
  }

  String text() {
    String text = getMessage();
    return text == null ? "" : text;
  }
}
