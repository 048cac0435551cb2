package io.trunkcall.internal.wire;

import io.trunkcall.Code;
import io.trunkcall.Metadata;
import io.trunkcall.Status;
import org.jspecify.annotations.Nullable;

/** A call of the peer. Owned by its session, and used where the session is used. */
public final class IncomingCall extends Call implements Exchange {
  // States of the callee's side (protocol.md 7.3). READY is receiving with nothing missing but the
  // start.
  static final byte RECEIVING = 0;
  static final byte READY = 1;
  static final byte RUNNING = 2;
  static final byte DONE = 3;

  final long began;
  boolean oneway;
  boolean returned;
  boolean requestEnded;
  boolean answered; // a frame of the answer was appended, or queued
  @Nullable ServedMethod method;
  @Nullable Metadata metadata;
  long attempt;
  byte @Nullable [] message; // null, too, if there is the other
  @Nullable Message ownMessage;
  int compression;
  // What RESULT will say, once the messages before it are appended.
  @Nullable Status finalStatus;
  byte[] finalMetadata = OutgoingCall.NO_BYTES;

  IncomingCall(Session session, int id, int codec, long deadline, long began) {
    super(session, id, codec, deadline, null);
    this.began = began;
  }

  /** What is called. */
  public ServedMethod method() {
    ServedMethod known = method;
    if (known == null) {
      throw new IllegalStateException("the call has not started");
    }
    return known;
  }

  /** Its metadata, empty if there is none. */
  @Override
  public Metadata metadata() {
    return metadata == null ? Metadata.EMPTY : metadata;
  }

  /** Which attempt the caller says that it is; 0: it says nothing. */
  @Override
  public int attempt() {
    return (int) Math.min(attempt, Integer.MAX_VALUE);
  }

  /** Whether the caller sends no more: all requests have come, or lie in this call. */
  @Override
  public boolean requestEnded() {
    return requestEnded;
  }

  /** When its CALL was read, in µs of the session's clock. */
  public long began() {
    return began;
  }

  /** Whether its caller wants acceptance, not an answer: {@link #accept}. */
  @Override
  public boolean oneway() {
    return oneway;
  }

  /**
   * The request of a method that takes one, which belongs to the one who serves it, or the only
   * message of a one-way call; null for others.
   */
  @Override
  public byte @Nullable [] message() {
    Message own = ownMessage;
    return own == null ? message : own.bytes();
  }

  /** The number of the compression that {@link #message} is in. */
  @Override
  public int compression() {
    return compression;
  }

  @Override
  public @Nullable Message ownMessage() {
    return ownMessage;
  }

  @Override
  public boolean accepts(int compression) {
    return session.peer().compressions().contains(compression);
  }

  /**
   * Sends an answer message. False: wait for {@link Events#writable} before the next one. The
   * session keeps the array, which must not change any more. Nothing happens once the call has its
   * RESULT.
   *
   * @throws LimitException for a message that the peer does not take
   */
  @Override
  public boolean send(byte[] array, int offset, int length, int compression) {
    return session.callee.answers().send(this, array, offset, length, compression, true);
  }

  @Override
  public boolean sendOwn(byte[] array, int offset, int length, int compression) {
    return session.callee.answers().send(this, array, offset, length, compression, false);
  }

  /**
   * Sends early metadata, before any answer message.
   *
   * @throws LimitException for metadata that the peer does not take
   * @throws IllegalArgumentException for metadata that is malformed
   */
  @Override
  public void sendMetadata(Metadata metadata) {
    session.callee.answers().sendMetadata(this, metadata);
  }

  /**
   * The handler has returned OK with its last, or only, message. {@code finish} is called once for
   * each started call, also when the call was stopped before. The session keeps the array, which
   * must not change any more.
   *
   * @throws LimitException for what the peer does not take; the call is as it was
   * @throws IllegalArgumentException for metadata that is malformed
   */
  @Override
  public void finish(byte[] array, int offset, int length, int compression, Metadata trailers) {
    finish(array, offset, length, compression, trailers, true);
  }

  @Override
  public void finishOwn(byte[] array, int offset, int length, int compression, Metadata trailers) {
    finish(array, offset, length, compression, trailers, false);
  }

  private void finish(
      byte[] array, int offset, int length, int compression, Metadata trailers, boolean lasting) {
    Answers answers = session.callee.answers();
    if (compression == 0 && trailers.isEmpty() && answers.plain(this, array, offset, length)) {
      return;
    }
    SendFlow.Queued message = new SendFlow.Queued(array, offset, length, compression, lasting);
    answers.finish(this, message, Status.OK, trailers);
  }

  /** The handler has returned without a last message; see the other {@code finish}. */
  @Override
  public void finish(Status status, Metadata trailers) {
    session.callee.answers().finish(this, null, status, trailers);
  }

  /**
   * Tells the caller of a one-way call that its handler will run (protocol.md 7.5), in or after
   * {@link Events#start}; else there is {@link #refuse}.
   */
  @Override
  public void accept() {
    session.callee.answers().accept(this);
  }

  /**
   * Ends a call whose handler did not run and will not: REFUSED, or CUT if an answer was sent
   * before. Stands for {@code finish} as well. The caller of a one-way call that was accepted is
   * told nothing.
   */
  @Override
  public void refuse(Status status, Metadata trailers) {
    session.callee.answers().turnAway(this, status, trailers);
  }

  /**
   * Ends a started call with CUT, as when interceptors leave their handler running (status.md 1.1).
   * {@link Events#stopped} is told, and the handler still has to return.
   */
  @Override
  public void fail(Code code, String text) {
    session.callee.answers().cut(this, code, text);
  }

  /** Consumes the oldest request message; null when there is none now. */
  @Override
  public @Nullable Message takeMessage() {
    Message message = takeAhead();
    if (message != null) {
      received(message.length());
    }
    return message;
  }

  @Override
  public @Nullable Message takeAhead() {
    ReceiveFlow flow = receiving;
    Message message = flow == null ? null : flow.take();
    if (flow != null && flow.due() && takesCredit()) {
      session.granter.add(this);
    }
    return message;
  }

  @Override
  public void received(long bytes) {
    ReceiveFlow flow = receiving;
    if (flow != null) {
      flow.received(bytes);
    }
  }

  @Override
  public int ahead() {
    return Message.AHEAD;
  }

  @Override
  public boolean over() {
    return state == DONE;
  }

  @Override
  boolean takesCredit() {
    return state < DONE && !requestEnded;
  }
}
