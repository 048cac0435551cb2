package io.trunkcall.internal.wire;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.trunkcall.Code;
import io.trunkcall.Delivery;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * The states of a session (protocol.md 11.1): keepalive, draining, closing in order, connection
 * errors, the end. Times are µs of the session's clock.
 */
final class Lifecycle {
  // States. Draining is OPEN with one of the marks of GOAWAY set.
  static final int PREFACE = 0;
  static final int OPEN = 1;
  static final int CLOSING = 2;
  static final int CLOSED = 3;

  private static final long HANDSHAKE = 10_000_000; // protocol.md 11.1
  private static final long DISCARD_TIME = 1_000_000; // protocol.md 11.6
  private static final long DISCARD_BYTES = 1 << 20;
  private static final long PATIENCE = 10_000_000; // a GOAWAY waits for its ACK (protocol.md 11.4)
  private static final String GRACE_OVER = "the grace period of draining is over";
  private static final String ADVICE =
      "check that a Trunkcall server listens there, that TLS is used at both ends or at neither,"
          + " and that no proxy or firewall stands between";

  private final Session session;
  private final long interval; // of keepalive; 0: none
  private final long answerTime;
  int state = PREFACE;
  boolean halfClose;
  long receivedAt;
  boolean waits; // nothing came since the last PING of keepalive
  private long pingAt = -Session.NEVER; // when the last PING was sent
  long roundTrip; // what the last PING took
  private boolean mustAsk; // drain was called before a GOAWAY could be sent
  private boolean asked; // own GOAWAY(0) appended
  private boolean calling; // and its ACK comes when no call is open
  private boolean sentAck;
  private boolean gotGoaway;
  private boolean gotAck;
  private boolean ending; // the peer has said that it ends the connection
  private long patience = Session.NEVER; // from then on calls are refused without the peer's ACK
  private long until; // of the preface, later of discarding
  private long discardLeft;
  boolean done; // closed in order, for the side that did not ask

  Lifecycle(Session session, long interval, long answerTime) {
    this.session = session;
    this.interval = interval;
    this.answerTime = answerTime;
    this.receivedAt = session.now;
    this.until = session.now + HANDSHAKE;
  }

  // Keepalive (protocol.md 11.2).

  void onPing(int w2, int w3) throws ConnectionFault {
    if ((w2 >> 16 & Frame.ACK) != 0) {
      long took = session.pool.answered(w3);
      if (took >= 0) {
        roundTrip = took;
      }
    } else if (session.output.owe()) {
      session.output.frame(Frame.PING, 0, Frame.ACK << 16, w3);
    } else {
      throw new ConnectionFault(ErrorClass.FLOOD, "too many refusals and PING ACKs are unsent");
    }
  }

  /** Sends a PING now, whatever the intervals. */
  void ping() {
    if (state == OPEN) {
      waits = true;
      pinged();
      session.pool.ping();
    }
  }

  /** A PING is sent now. */
  void pinged() {
    pingAt = session.now;
  }

  private long pingDue() {
    if (interval == 0 || state != OPEN) {
      return Session.NEVER;
    }
    if (waits) {
      return pingAt + answerTime + 1; // what arrives at the last moment is in time
    }
    return Math.max(receivedAt + interval, pingAt + session.peer.minPingInterval() * 1_000);
  }

  // Draining (protocol.md 11.4).

  void drain(boolean calls) {
    if (asked || state >= CLOSING) {
      return;
    }
    calling = calls;
    if (state == PREFACE && !session.initiator) {
      mustAsk = true;
      return;
    }
    asked = true;
    patience = session.now + PATIENCE;
    session.output.frame(Frame.GOAWAY, 0, 0, Frame.DRAINING, "draining".getBytes(UTF_8));
    update();
  }

  void onGoaway(int w2, int w3, byte[] data, int start, int end) {
    if ((w2 >> 16 & Frame.ACK) != 0) {
      gotAck = true;
      update();
      return;
    }
    if (ending) {
      return;
    }
    String text = Body.text(data, start, end);
    if (w3 <= Frame.DRAINING || w3 > Frame.NOT_SERVED) { // above 2^31 too
      if (!gotGoaway) {
        gotGoaway = true;
        acknowledge();
        session.events.goesAway(Frame.DRAINING, text);
      }
      return;
    }
    ending = true; // nothing new in either direction
    update();
    session.events.goesAway(w3, text);
    if (w3 == Frame.NOT_SERVED) {
      session.caller.endAll(Code.UNAVAILABLE, "not served: " + text, Delivery.REFUSED, false);
    }
  }

  /** After this, this side opens no calls. */
  private void acknowledge() {
    if (!sentAck) {
      sentAck = true;
      session.output.frame(Frame.GOAWAY, 0, Frame.ACK << 16, 0);
      update();
    }
  }

  void update() {
    boolean open = state == OPEN || (state == PREFACE && session.initiator);
    boolean overdue = session.caller.overdue;
    session.acceptsCalls = open && !sentAck && !ending && !overdue;
    session.settling = asked || gotGoaway || sentAck || gotAck || overdue;
    if (gotAck || asked) {
      session.reader.callHigh = 0; // every CALL takes the long way, which looks at turnsAway
    }
  }

  /** Whether a CALL that arrives now is refused (protocol.md 11.4). */
  boolean turnsAway(long now) {
    return gotAck || (now >= patience && !ending);
  }

  /** Closes in order when all is done (protocol.md 11.5). */
  void settle() {
    if (state != OPEN) {
      return;
    }
    if (asked && !sentAck && session.caller.open == 0) {
      if (!calling || (gotAck && session.callee.open == 0)) {
        acknowledge();
      }
    }
    if (session.callee.open > 0 || session.caller.live() > 0) {
      return;
    }
    if (session.caller.overdue) {
      done = true; // of no use any more (protocol.md 7.2)
    } else if (sentAck && gotAck) {
      if (asked) {
        halfClose = true;
        state = CLOSING;
        until = Session.NEVER;
        discardLeft = Session.NEVER;
        update();
      } else {
        done = true; // until the transport is closed, what still comes is answered
      }
    }
  }

  /** Ends what is still open and closes (protocol.md 11.5). */
  void graceOver() {
    if (state < CLOSING) {
      session.callee.endOfGrace(GRACE_OVER);
      session.caller.cancelAll(Code.UNAVAILABLE, GRACE_OVER);
      session.caller.endAll(Code.UNAVAILABLE, GRACE_OVER, null, false);
    }
    close();
  }

  // Endings (protocol.md 11.6, 11.7).

  /** What people are to know of a peer that has not begun to speak; empty once it has. */
  String unheard(long now) {
    if (state != PREFACE) {
      return "";
    }
    return String.format(
        Locale.ROOT,
        "it has accepted the connection and said nothing for %.1f s: %s",
        (now - receivedAt) / 1e6,
        ADVICE);
  }

  /** Both prefaces are known. */
  void opened() {
    state = OPEN;
    until = Session.NEVER;
    if (mustAsk) {
      drain(calling);
    }
    update();
    session.events.opened();
  }

  /** A connection error found by this side. */
  void fail(ConnectionFault fault, String where) {
    if (state >= CLOSING) {
      return;
    }
    String text = fault.kind.word() + ": " + fault.text() + where;
    @Nullable Delivery known = null;
    boolean ofVersion = fault.kind == ErrorClass.VERSION;
    if (fault.kind == ErrorClass.PREFACE || (ofVersion && session.initiator)) {
      close();
      session.output.drop();
      known = ofVersion ? Delivery.REFUSED : null;
    } else {
      if (!ofVersion) {
        goaway(fault.kind == ErrorClass.FLOOD ? Frame.RESOURCE_LIMIT : Frame.PROTOCOL_ERROR, text);
      }
      halfClose = true;
      state = CLOSING;
      until = session.now + DISCARD_TIME;
      discardLeft = DISCARD_BYTES;
      update();
    }
    endCalls(text, known, state == CLOSED);
    session.events.failed(fault.kind, text);
  }

  private void goaway(int reason, String text) {
    byte[] said = text.getBytes(UTF_8);
    int size = StatusPayload.boundary(said, Math.min(said.length, Body.MAX_TEXT));
    session.output.header(Frame.GOAWAY << 24 | size, 0, 0, reason);
    session.output.bytes(said, 0, size);
  }

  private void silent(String text, boolean goaway) {
    if (goaway) {
      goaway(Frame.PEER_SILENT, text);
    }
    close();
    endCalls(text, null, false);
    session.events.failed(ErrorClass.SILENT, text);
  }

  private void endCalls(String text, @Nullable Delivery known, boolean lost) {
    session.caller.endAll(Code.UNAVAILABLE, session.connection() + " ended: " + text, known, lost);
    session.callee.stopAll();
  }

  private void close() {
    state = CLOSED;
    halfClose = true;
    until = Session.NEVER;
    update();
  }

  void endOfStream() {
    if (state >= CLOSING) {
      close();
    } else {
      session.output.drop();
      close();
      endCalls("the stream has ended", null, true);
    }
  }

  /** Nothing more passes in either direction. */
  void lost(String text) {
    session.output.drop();
    if (state != CLOSED) {
      close();
      endCalls(text, null, true);
    }
  }

  /** Input that comes when nothing is read any more. */
  void discarded(int size) {
    discardLeft -= size;
    if (state == CLOSING && discardLeft < 0) {
      close();
    }
  }

  // Time.

  void tick(long now) {
    if (now >= until) {
      if (state == PREFACE) {
        silent(session.initiator ? unheard(now) : "no preface in 10 s", session.initiator);
      } else if (state == CLOSING) {
        close();
      }
    }
    if (now >= pingDue()) {
      if (waits) {
        silent("nothing received for " + (now - receivedAt) / 1_000 + " ms", true);
      } else {
        ping();
      }
    }
  }

  long nextDeadline() {
    return Math.min(until, pingDue());
  }
}
