package io.trunkcall.internal.wire;

import java.util.Arrays;

/**
 * What comes from the peer: the preface, then frames, however they were cut (protocol.md 1.5).
 * Takes frames apart and hands each to its call. Keeps only what is not whole yet.
 */
final class Reader {
  private static final byte[] NOTHING = new byte[0];

  /** What is not whole is kept in the same memory next time, unless it is longer. */
  private static final int KEPT = 4 << 10;

  private final Session session;
  private final int largest;
  private final int resultHigh; // above it a RESULT takes the long way
  int callHigh; // above it a CALL takes the long way
  final Body body = new Body();
  private byte[] pending = NOTHING; // a preface or a frame that is not whole
  private int pendingSize;
  private int need = Preface.SIZE; // bytes of it after which there is more to say
  private long received; // offset, since the beginning, of the frame at hand
  private final byte[] preface;
  private boolean prefaceRead;

  Reader(Session session) {
    this.session = session;
    Settings own = session.own;
    long most = Math.min(own.maxFrameBody(), own.maxMessage());
    this.largest = (int) Math.min(most, session.window - Frame.MESSAGE_COST);
    this.resultHigh = Frame.RESULT << 24 | largest;
    this.callHigh = Frame.CALL << 24 | largest;
    this.preface = Preface.write(own, session.window);
    if (session.initiator) {
      session.output.bytes(preface, 0, preface.length);
    }
  }

  /** See {@link Session#receive}. */
  void receive(byte[] data, int offset, int length) {
    int at = offset;
    int end = offset + length;
    try {
      while (pendingSize > 0 || session.lifecycle.state == Lifecycle.PREFACE) {
        int more = Math.min(need - pendingSize, end - at);
        keep(data, at, more);
        at += more;
        if (pendingSize < need) {
          if (session.lifecycle.state == Lifecycle.PREFACE && !prefaceRead) {
            Preface.check(pending, 0, pendingSize);
          }
          return;
        }
        if (!pendingWhole()) {
          return;
        }
      }
      if (session.lifecycle.state == Lifecycle.OPEN) {
        readFrames(data, at, end);
      }
    } catch (ConnectionFault fault) {
      drop();
      boolean inPreface =
          fault.kind == ErrorClass.PREFACE
              || fault.kind == ErrorClass.VERSION
              || fault.kind == ErrorClass.SETTING;
      session.lifecycle.fail(fault, inPreface ? "" : ", in the frame at byte " + received);
    }
  }

  /** The input has ended: what is not whole never will be. */
  void drop() {
    pending = NOTHING;
    pendingSize = 0;
  }

  /** Adds to what is not whole. Its memory grows with what has come of it. */
  private void keep(byte[] data, int at, int size) {
    int needed = pendingSize + size;
    if (pending.length < needed) {
      pending = Arrays.copyOf(pending, Math.min(need, Math.max(needed, 2 * pending.length)));
    }
    System.arraycopy(data, at, pending, pendingSize, size);
    pendingSize = needed;
  }

  /** As much has come as was needed. False: the session reads no more. */
  private boolean pendingWhole() throws ConnectionFault {
    if (session.lifecycle.state == Lifecycle.PREFACE) {
      readPreface();
      return true;
    }
    int w0 = Frame.word(pending, 0);
    int length = w0 & 0xFFFFFF;
    if (need == Frame.HEADER && length > 0) {
      check(w0, Frame.word(pending, 4), Frame.word(pending, 8), Frame.word(pending, 12));
      need = Frame.HEADER + length;
      return true;
    }
    int size = pendingSize;
    byte[] frame = pending;
    pending = NOTHING;
    pendingSize = 0;
    need = Frame.HEADER;
    readFrames(frame, 0, size);
    if (frame.length <= KEPT || session.lifecycle.state == Lifecycle.OPEN) {
      pending = frame;
    }
    return session.lifecycle.state == Lifecycle.OPEN;
  }

  private void readPreface() throws ConnectionFault {
    Preface theirs = Preface.read(pending, 0);
    if (!prefaceRead) {
      prefaceRead = true;
      session.peerHighest = theirs.highest;
      if (!session.initiator) {
        session.output.bytes(preface, 0, preface.length);
      }
      if (!theirs.spoken()) {
        throw new ConnectionFault(
            ErrorClass.VERSION,
            "the peer speaks version "
                + theirs.version
                + " to "
                + theirs.highest
                + ", this side 1");
      }
      need = Preface.SIZE + theirs.settingsLength;
    }
    if (pendingSize < need) {
      return;
    }
    session.peer = SettingsEntries.read(pending, Preface.SIZE, need).settings;
    session.peerWindow = theirs.window;
    received = need;
    need = Frame.HEADER;
    drop();
    session.learnPeer();
    session.caller.told(
        session.peer.maxCalls(), theirs.window - Preface.INITIAL_WINDOW, session.peer.pool());
    session.lifecycle.opened();
  }

  private void readFrames(byte[] data, int start, int end) throws ConnectionFault {
    Lifecycle lifecycle = session.lifecycle;
    Results results = session.results;
    Callee callee = session.callee;
    long base = received - start;
    int at = start;
    while (end - at >= Frame.HEADER) {
      int w0 = Frame.word(data, at);
      int body = at + Frame.HEADER;
      int stop = body + (w0 & 0xFFFFFF);
      if (stop > end) {
        break;
      }
      int w1 = Frame.word(data, at + 4);
      int w2 = Frame.word(data, at + 8);
      int w3 = Frame.word(data, at + 12);
      if (w0 >= Frame.RESULT << 24 && w0 <= resultHigh) {
        if (results.plainResult(w1, w2, w3, data, body, stop)) {
          at = stop;
          if (lifecycle.state != Lifecycle.OPEN) {
            return;
          }
          continue;
        }
      } else if (w0 >= Frame.CALL << 24 && w0 <= callHigh && (w2 & 0xF0FF0000) == 0x00030000) {
        if (callee.plainCall(w1, w2, w3, data, body, stop)) {
          at = stop;
          continue;
        }
      }
      received = base + at;
      frame(w0, w1, w2, w3, data, body, stop);
      at = stop;
      if (lifecycle.state != Lifecycle.OPEN) {
        return;
      }
    }
    received = base + at;
    if (at < end) {
      keepStart(data, at, end);
    } else if (pendingSize == 0 && pending.length > KEPT) {
      pending = NOTHING;
    }
  }

  /** Keeps a frame that is not whole; its header is judged at once (protocol.md 3.1). */
  private void keepStart(byte[] data, int at, int end) throws ConnectionFault {
    need = Frame.HEADER;
    if (end - at >= Frame.HEADER) {
      int w0 = Frame.word(data, at);
      check(w0, Frame.word(data, at + 4), Frame.word(data, at + 8), Frame.word(data, at + 12));
      need = Frame.HEADER + (w0 & 0xFFFFFF);
    }
    keep(data, at, end - at);
  }

  private void check(int w0, int w1, int w2, int w3) throws ConnectionFault {
    Settings own = session.own;
    Frame.check(w0, w1, w2, w3, session.ownBit, own.maxFrameBody(), own.maxMethods());
  }

  /** Hands one frame over. */
  private void frame(int w0, int w1, int w2, int w3, byte[] data, int start, int stop)
      throws ConnectionFault {
    check(w0, w1, w2, w3);
    boolean own = (w1 & Frame.INITIATOR_BIT) == session.ownBit;
    switch (w0 >>> 24) {
      case Frame.DEFINE -> session.callee.onDefine(w2 & 0xFFFF, data, start, stop);
      case Frame.CALL -> session.callee.onCall(w1, w2, w3, data, start, stop);
      case Frame.DATA -> {
        if ((w2 >> 16 & Frame.POOL) != 0) {
          session.pool.charge(stop - start);
        }
        if (own) {
          session.results.onData(w1, w2, data, start, stop);
        } else {
          session.callee.onData(w1, w2, data, start, stop);
        }
        session.pool.settle();
      }
      case Frame.RESULT -> session.results.onResult(w1, w2, w3, data, start, stop);
      case Frame.CREDIT -> {
        if (w1 == 0) {
          session.sender.grantedPool(w3);
        } else if (own) {
          session.results.onCredit(w1, w3);
        } else {
          session.callee.onCredit(w1, w3);
        }
      }
      case Frame.CANCEL -> session.callee.onCancel(w1);
      case Frame.PING -> session.lifecycle.onPing(w2, w3);
      case Frame.GOAWAY -> session.lifecycle.onGoaway(w2, w3, data, start, stop);
      default -> {} // of a later version: skipped
    }
  }
}
