package io.trunkcall.internal.wire;

import io.trunkcall.Code;
import io.trunkcall.Metadata;

/**
 * What a session tells the layer above. The functions are called from within the session's own
 * methods, on its thread, and may use the session, except {@link Session#receive}, {@link
 * Session#dispatch}, {@link Session#tick} and {@link Session#take}. They must not throw. {@link
 * #reliefAsked} is the one that other threads call.
 *
 * <p>A connection has to hear all of them; what has a session and no connection leaves out what
 * cannot happen there.
 */
public interface Events {
  /** The peer's preface has come: {@link Session#peer} is known. */
  default void opened() {}

  /**
   * A handler starts. It counts as running until {@link IncomingCall#finish}, or {@link
   * IncomingCall#refuse}.
   */
  default void start(IncomingCall call) {}

  /**
   * A call of the peer ends REFUSED, or else CUT, which {@code code} and {@code text} tell it.
   * {@code method} is the name that it asked for, empty if that is not known.
   */
  default void unserved(String method, boolean refused, Code code, String text) {}

  /**
   * A running handler's call was ended without it: by CANCEL, its deadline, a limit, the
   * connection.
   */
  default void stopped(IncomingCall call) {}

  /**
   * A request message is there: {@link IncomingCall#takeMessage}. Not told of a request that {@link
   * #start} hands over.
   */
  default void arrived(IncomingCall call) {}

  /**
   * An answer message is there: {@link OutgoingCall#takeMessage}. Not told of the answer in a
   * RESULT, which {@link #ended} announces.
   */
  default void arrived(OutgoingCall call) {}

  /** The caller of a streaming method sends no more. */
  default void halfClosed(IncomingCall call) {}

  /** Early metadata of the answer has come: {@link OutgoingCall#header}. */
  default void header(OutgoingCall call, Metadata metadata) {}

  /**
   * The call has ended: {@link OutgoingCall#status} says how. Once for each call. The last answer,
   * if it came with the end, is in {@link OutgoingCall#array} until this function returns.
   */
  default void ended(OutgoingCall call) {}

  /** What the stream had queued is on its way. */
  default void writable(IncomingCall call) {}

  /** What the stream had queued is on its way. */
  default void writable(OutgoingCall call) {}

  /** A call that found no slot may try again. */
  default void slotFree() {}

  /**
   * A call, or this connection, was ended to free memory for others: what was appended is to be
   * written.
   */
  default void relieved() {}

  /**
   * Called on any thread, perhaps under a lock of the wire's: have {@link Session#relieve} called
   * on this session's thread, later. This connection holds most of the memory that others need.
   */
  default void reliefAsked() {}

  /**
   * The peer's GOAWAY. With reason 0 it drains: open no more calls here. Any other ends the
   * connection (protocol.md 11.3).
   */
  default void goesAway(int reason, String text) {}

  /** A RESULT did not come 30 s after CANCEL: replace the connection (protocol.md 7.2). */
  default void overdue() {}

  /** The session has ended for an error, or because the peer was silent. */
  void failed(ErrorClass kind, String text);
}
