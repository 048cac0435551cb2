package io.trunkcall.internal.wire;

import io.trunkcall.Metadata;
import io.trunkcall.Status;
import org.jspecify.annotations.Nullable;

/** A call of this side. Owned by its session, and used where the session is used. */
public final class OutgoingCall extends Call {
  // States of the caller's side (protocol.md 7.2). Free is the absence of a call.
  static final byte OPEN = 0;
  static final byte ENDED = 1;
  static final byte ABANDONED = 2;
  static final byte OVER = 3;

  static final byte[] NO_BYTES = new byte[0];

  int plain; // w2 of the RESULT that the session can take at once; -1: none
  long position; // where its CALL begins in the output
  int spent; // window spent by the CALL
  boolean single = true; // exactly one answer message is expected
  boolean oneway;
  @Nullable Status status;
  @Nullable Metadata header;
  @Nullable Metadata trailers;
  long serverTime;
  long abandonedAt;
  // The last answer, if it came with the RESULT.
  boolean hasMessage;
  byte[] array = NO_BYTES;
  int offset;
  int length;
  int compression;

  OutgoingCall(Session session, int id, int codec, long deadline, @Nullable Object user) {
    super(session, id, codec, deadline, user);
    state = ENDED;
  }

  /**
   * Sends a request message, with the half-close if {@code end}. False: wait for {@link
   * Events#writable} before the next one. The session keeps the array, which must not change any
   * more. Nothing happens once the call has ended.
   *
   * @throws LimitException for a message that the peer does not take
   * @throws IllegalStateException after the half-close
   */
  public boolean send(byte[] array, int offset, int length, int compression, boolean end) {
    return session.caller.send(this, array, offset, length, compression, end, true);
  }

  /** The same, of an array that nobody else uses: it may be used again for other messages. */
  public boolean sendOwn(byte[] array, int offset, int length, int compression) {
    return session.caller.send(this, array, offset, length, compression, false, false);
  }

  /** No more messages follow. A second half-close does nothing. */
  public void halfClose() {
    session.caller.halfClose(this);
  }

  /** Ends the call with CANCELLED, if it has not ended, for a reason of protocol.md 7.7. */
  public void cancel(int reason) {
    session.caller.cancel(this, reason);
  }

  /**
   * Ends the call with a status that this side has made up, if it has not ended, for a reason of
   * protocol.md 7.7.
   */
  public void abandon(int reason, Status status) {
    if (state < ABANDONED) {
      session.caller.abandon(this, reason, status);
    }
  }

  /** Consumes the oldest answer that came ahead of the end; null when there is none now. */
  public @Nullable Message takeMessage() {
    Message message = takeAhead();
    if (message != null) {
      received(message.length());
    }
    return message;
  }

  /**
   * The same for who has not received it yet: its bytes count as held until they are {@link
   * #received received}.
   */
  public @Nullable Message takeAhead() {
    ReceiveFlow flow = receiving;
    Message message = flow == null ? null : flow.take();
    if (flow != null && flow.due() && takesCredit()) {
      session.granter.add(this);
    }
    return message;
  }

  /** So many bytes of messages that were taken ahead are held no more. */
  public void received(long bytes) {
    ReceiveFlow flow = receiving;
    if (flow != null) {
      flow.received(bytes);
    }
  }

  /** Drops answers that nobody will take. Without it they count against the memory until taken. */
  public void discard() {
    ReceiveFlow flow = receiving;
    if (flow != null) {
      flow.dropAll();
    }
  }

  /** The last answer was told of, or is none: the array it lies in is used again. */
  void forget() {
    hasMessage = false;
    array = NO_BYTES;
    offset = length = 0;
  }

  /** How the call ended; null until then. */
  public @Nullable Status status() {
    return status;
  }

  /** The metadata that came ahead of the answer, empty if none did. */
  public Metadata header() {
    return header == null ? Metadata.EMPTY : header;
  }

  /** The metadata that came with the end, empty if none did. */
  public Metadata trailers() {
    return trailers == null ? Metadata.EMPTY : trailers;
  }

  /** How long the peer had the call, in µs, as it says. */
  public long serverTime() {
    return serverTime;
  }

  /**
   * Whether the last answer came with the end. It is then the {@link #length} bytes at {@link
   * #offset} of {@link #array}, in {@link #compression}, until {@link Events#ended} returns.
   */
  public boolean hasMessage() {
    return hasMessage;
  }

  /** See {@link #hasMessage}. */
  public byte[] array() {
    return array;
  }

  /** See {@link #hasMessage}. */
  public int offset() {
    return offset;
  }

  /** See {@link #hasMessage}. */
  public int length() {
    return length;
  }

  /** See {@link #hasMessage}. */
  public int compression() {
    return compression;
  }

  @Override
  public boolean over() {
    return state >= ABANDONED;
  }

  @Override
  boolean takesCredit() {
    return state < ABANDONED;
  }
}
