package io.trunkcall.internal.wire;

import java.util.ArrayDeque;

/** The sending half of a stream: what may still be spent, and messages that wait. */
final class SendFlow {
  /** A message that is not wholly appended. Its array never changes, or not until it was taken. */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  record Queued(byte[] array, int offset, int length, int compression, boolean lasting) {
    Queued(byte[] array, int offset, int length, int compression) {
      this(array, offset, length, compression, true);
    }
  }

  long window;
  final ArrayDeque<Queued> outbox = new ArrayDeque<>(2);
  int sent; // how much of the first one was appended
  boolean started; // whether a piece of it was
  boolean ended; // END follows the last message
  boolean last; // RESULT follows the last message
  boolean blocked; // waits for credit
  boolean waiting; // stands in one of the sender's lines of those that can send
  long since; // since when the first message is under way (protocol.md 9.6)
  long holds; // bytes of queued answers
  long order; // a lesser one has held something for longer

  SendFlow(long window) {
    this.window = window;
  }
}
