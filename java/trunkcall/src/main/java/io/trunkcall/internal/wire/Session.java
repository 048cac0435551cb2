package io.trunkcall.internal.wire;

import io.trunkcall.Status;
import org.jspecify.annotations.Nullable;

/**
 * All calls of one connection: bytes in, {@link Events} and bytes out; time is a parameter. Not
 * safe for several threads: whoever owns the transport owns the session.
 *
 * <pre>
 * session.receive(array, offset, length, now)  whenever bytes have come; then, when no more can be
 *                                              read at once,
 * session.dispatch(now)                        which starts what was read (protocol.md 10)
 * session.tick(now)                            at session.nextDeadline() at the latest
 * session.endOfStream(now)                     when the peer sends no more
 * session.lost(now, text)                      when the connection broke, or both directions ended
 * session.take(sink)                           after any of these and after calls on streams, until
 *                                              it gives 0, but not while the transport is full
 * session.wrote(bytes)                         as the bytes leave
 * session.halfClose()                          when true and all is written: end the output
 * session.closed()                             when true and all is written: close the transport
 * </pre>
 *
 * <p>Times are whole µs of a clock that does not jump. The session remembers the last one given;
 * {@link #setNow} is called before calls are opened, sent on or cancelled, whose times count from
 * then.
 */
public final class Session {
  /** The time of {@link #nextDeadline} when nothing is due. */
  public static final long NEVER = 1L << 62;

  /** Reason of CANCEL: the caller gave up (protocol.md 7.7). */
  public static final int GAVE_UP = 0;

  /** Reason of CANCEL: its deadline passed. */
  public static final int DEADLINE_PASSED = 1;

  /** Reason of CANCEL: it cannot take the answer. */
  public static final int CANNOT_TAKE = 2;

  /** The side of a connection that {@code initiator} says, serving {@code methods}. */
  public Session(
      Events events, boolean initiator, long now, SessionConfig config, MethodTable methods) {
    throw new UnsupportedOperationException();
  }

  // Opening calls.

  /** Whether calls may be opened, as far as draining and the end of the connection go. */
  public boolean acceptsCalls() {
    throw new UnsupportedOperationException();
  }

  /** What the session takes for the present. */
  public void setNow(long now) {
    throw new UnsupportedOperationException();
  }

  /** What the session takes for the present. */
  public long now() {
    throw new UnsupportedOperationException();
  }

  /**
   * Opens a call with its one request and one answer. See {@link #open}, which this is a quick way
   * of.
   */
  public @Nullable OutgoingCall unary(
      MethodName name,
      byte[] array,
      int offset,
      int length,
      int codec,
      long deadline,
      @Nullable Object user) {
    throw new UnsupportedOperationException();
  }

  /**
   * Opens a call of any kind, with its first message unless {@code array} is null. The array must
   * not change until the call is over. {@code deadline} is in µs of the session's clock, 0: none;
   * past, the call ends at once: {@link Events#ended} is told before this returns.
   *
   * <p>Null: it cannot be opened now. If {@link #acceptsCalls}, no slot is free, and {@link
   * Events#slotFree} tells when to try again.
   *
   * @throws LimitException for what the peer does not take
   * @throws IllegalArgumentException for what cannot be sent
   */
  public @Nullable OutgoingCall open(
      MethodName name,
      byte @Nullable [] array,
      int offset,
      int length,
      Opening opening,
      long deadline,
      @Nullable Object user) {
    throw new UnsupportedOperationException();
  }

  /** Whether calls may be in this codec: both sides have it. */
  public boolean knowsCodec(int codec) {
    throw new UnsupportedOperationException();
  }

  // Writing.

  /**
   * Hands the bytes to be written next to {@code sink}, and gives their number. They count as passed
   * on, unless the configuration is exact.
   */
  public long take(Sink sink) {
    throw new UnsupportedOperationException();
  }

  /** So many more of the bytes taken have left the layer below. */
  public void wrote(long bytes) {
    throw new UnsupportedOperationException();
  }

  /** Bytes appended that were not written yet. */
  public long unsent() {
    throw new UnsupportedOperationException();
  }

  /** Whether the output ends behind what was taken and what {@link #take} still gives. */
  public boolean halfClose() {
    throw new UnsupportedOperationException();
  }

  /** Whether nothing more is read: the transport is to be closed behind the last bytes. */
  public boolean closed() {
    throw new UnsupportedOperationException();
  }

  // Reading.

  /**
   * Takes in bytes, however cut. Never throws for what is in them. The array belongs to the caller
   * again when this returns.
   */
  public void receive(byte[] array, int offset, int length, long now) {
    throw new UnsupportedOperationException();
  }

  /** Starts what was read, except calls whose time has run out by now (protocol.md 10). */
  public void dispatch(long now) {
    throw new UnsupportedOperationException();
  }

  /** The peer sends no more. */
  public void endOfStream(long now) {
    throw new UnsupportedOperationException();
  }

  /** The connection is gone: what is unsent never leaves. {@code text} says why. */
  public void lost(long now, String text) {
    throw new UnsupportedOperationException();
  }

  // Draining and time.

  /**
   * Asks the peer to open no more calls; what is open goes on (protocol.md 11.4). If {@code
   * calling}, this side may open some until none is open; else it says, with the end of its own
   * calls at the latest, that it opens none.
   */
  public void drain(long now, boolean calling) {
    throw new UnsupportedOperationException();
  }

  /** Ends what is still open and closes (protocol.md 11.5). */
  public void graceOver(long now) {
    throw new UnsupportedOperationException();
  }

  /** Does what is due. Cheap when nothing is. */
  public void tick(long now) {
    throw new UnsupportedOperationException();
  }

  /**
   * When {@link #tick} is due at the latest, in µs; {@link #NEVER}: not at all. It is never late and
   * may be early.
   */
  public long nextDeadline() {
    throw new UnsupportedOperationException();
  }

  /** Sends a PING now, whatever the intervals. */
  public void ping() {
    throw new UnsupportedOperationException();
  }

  /** Frees memory for other sessions: see {@link Events#reliefAsked}. */
  public void relieve(long now) {
    throw new UnsupportedOperationException();
  }

  // What is known of the session.

  /** Whether this side opened the connection. */
  public boolean initiator() {
    throw new UnsupportedOperationException();
  }

  /** The peer's settings: the defaults until its preface has come. */
  public Settings peer() {
    throw new UnsupportedOperationException();
  }

  /** Whether the peer's preface has come. */
  public boolean opened() {
    throw new UnsupportedOperationException();
  }

  /** The highest version that the peer's preface names, 0 until it has come. */
  public int peerHighestVersion() {
    throw new UnsupportedOperationException();
  }

  /** What people are to know of a peer that has not begun to speak; empty once it has. */
  public String unheard(long now) {
    throw new UnsupportedOperationException();
  }

  /** Slots taken by own calls, abandoned ones included. */
  public int ownCalls() {
    throw new UnsupportedOperationException();
  }

  /** The peer's calls that are open. */
  public int servedCalls() {
    throw new UnsupportedOperationException();
  }

  /** What the last answered PING took, in µs; 0: none was answered. */
  public long roundTrip() {
    throw new UnsupportedOperationException();
  }

  /**
   * The part of the open streams' windows that the peer may not use now: messages were not consumed,
   * or their credit was not granted yet.
   */
  public long withheldCredit() {
    throw new UnsupportedOperationException();
  }

  /** The size of the pool that this side keeps. */
  public long pool() {
    throw new UnsupportedOperationException();
  }

  /** Bytes held of messages and queued answers. */
  public long held() {
    throw new UnsupportedOperationException();
  }

  /** What the caller's side says of a call for which no answer speaks. */
  public static Status localStatus(
      io.trunkcall.Code code, String message, io.trunkcall.Delivery delivery) {
    return Status.of(code, message).withDelivery(delivery).withLocal(true);
  }
}
