package io.trunkcall.internal.wire;

import org.jspecify.annotations.Nullable;

/**
 * The pool that this side grants: a window that all streams of the connection share (protocol.md
 * 9.8, limits.md 2). What is left, owed and charged adds up to what is kept.
 */
final class Pool {
  private static final long LEAST_MEASURED = 64 << 10; // charged before a PING measures the path
  private static final long MEASURES_WITHIN = 10_000_000; // µs: a later ACK measures nothing
  private static final long LEAST_TIME = 1_000; // µs over which a rate is taken at least
  private static final long GROWTH = 8; // times as much as the path was seen to hold
  private static final long FORGETS = 600_000_000; // µs for which what was learned holds
  private static final long IDLE_SHRINKS = 60_000_000; // µs without a charge before it is halved
  private static final long LAIN = 1_000_000; // µs before what lies in a stream is granted anew
  private static final long MOST_ANEW = 64 << 20; // bytes that were granted anew and lie in streams

  private final Session session;
  private final long least;
  private final long most;
  long left;
  long kept;
  private long aim;
  private long owed; // due and not granted
  private long charged; // what lies in streams, and what is being looked at
  long untaken; // what the frame at hand costs, until its stream takes it in
  boolean due; // a CREDIT is to be sent
  long lookAt = Session.NEVER; // when to look for what lies
  private long anew;
  private boolean known; // a frame was charged: the peer knows what CREDIT of it is
  private long creditEnd; // where in the output the last CREDIT ended
  private long idleAt; // since when nothing is charged, later by the minutes that it was halved for
  // What the aim comes from: of the path, and of the longest message.
  private long measured;
  private long announced;
  // The measure: what is charged between a PING and its ACK.
  private long since; // charged since the last PING
  private boolean asked; // the last PING was not answered yet
  private int word; // it carried
  private long pingedAt;
  private long shortest; // that an ACK has taken
  private long forgetAt; // when measured and shortest are to be learned anew

  /** {@code most}: what it may grow to; 0: it stays as it is. */
  Pool(Session session, long size, long most) {
    this.session = session;
    this.left = this.kept = this.aim = this.least = size;
    this.most = most;
  }

  // Charging and owing.

  /** Takes the cost of a frame, whatever becomes of it. */
  void charge(int body) throws ConnectionFault {
    long cost = (long) body + Frame.MESSAGE_COST;
    if (cost > left) {
      throw new ConnectionFault(
          ErrorClass.CREDIT, "a frame that costs " + cost + ", the pool holds " + left);
    }
    long now = session.now;
    left -= cost;
    charged += cost;
    untaken = cost;
    since += cost;
    if (lookAt == Session.NEVER) {
      lookAt = now + LAIN;
    }
    shrink(now);
    idleAt = now;
    if (!known) {
      known = true;
      owe(0);
    }
  }

  /** Halves what is to be kept for each minute that has passed without a charge. */
  private void shrink(long now) {
    while (now - idleAt >= IDLE_SHRINKS && aim > least) {
      measured /= 2;
      announced /= 2;
      resize();
      idleAt += IDLE_SHRINKS;
    }
  }

  /** The frame at hand was dealt with: what no stream has taken in is owed. */
  void settle() {
    if (untaken > 0) {
      long cost = untaken;
      untaken = 0;
      owe(cost);
    }
  }

  /** Owes bytes that were charged, to be granted once that is a quarter of the pool. */
  private void owe(long size) {
    charged -= size;
    owed += size;
    if (kept > aim) {
      long withheld = Math.min(kept - aim, owed);
      kept -= withheld;
      owed -= withheld;
    }
    due = known && owed > 0 && owed * 4 >= kept;
  }

  /** What is due and was not granted. */
  long owed() {
    return owed;
  }

  /** What lies in streams, and what is being looked at. */
  long charged() {
    return charged;
  }

  /** Owes what lay in a stream, except what was granted anew already. */
  void giveBack(ReceiveFlow flow, long bytes) {
    long size = Math.min(bytes, flow.lies);
    if (size > 0) {
      flow.lies -= size;
      flow.moved = true;
      long again = Math.min(size, flow.anew);
      flow.anew -= again;
      anew -= again;
      owe(size - again);
    }
  }

  /** Grants what is owed, once the last CREDIT has left. With it goes a PING for the measure. */
  void appendCredit() {
    Output output = session.output;
    if (creditEnd > output.written()) {
      return;
    }
    due = false;
    output.frame(Frame.CREDIT, 0, 0, (int) owed);
    left += owed;
    owed = 0;
    if (since >= LEAST_MEASURED && !asked && most > least) {
      ping();
      session.lifecycle.pinged();
    }
    creditEnd = output.position();
  }

  // Its size.

  /** Enlarges the pool for a message that begins, since its length is known. */
  void makeWay(long total) {
    long want = total + total / 2;
    shrink(session.now);
    if (want > aim && kept > 0) {
      idleAt = session.now; // or the first charge would take this back
      announced = Math.min(want, most);
      resize();
    }
  }

  /** Brings the pool to its new size: larger at once, smaller step by step. */
  private void resize() {
    aim = Math.max(Math.max(measured, announced), least);
    if (aim > kept) {
      owed += aim - kept;
      kept = aim;
      owe(0);
    }
  }

  /** Appends a PING, which measures the path. */
  void ping() {
    word++;
    asked = true;
    pingedAt = session.now;
    since = 0;
    session.output.frame(Frame.PING, 0, 0, word);
  }

  /**
   * The ACK of a PING: computes what the path holds. That is what comes over it while the pool is
   * nearly used up, within the shortest round trip. Most of a longer round trip is a queue, which a
   * larger pool would make longer still. Gives what the PING took, -1 if the ACK was not asked for.
   */
  long answered(int acknowledged) {
    if (!asked || acknowledged != word) {
      return -1;
    }
    asked = false;
    long now = session.now;
    long took = Math.max(now - pingedAt, 1);
    if (took > MEASURES_WITHIN) {
      return took;
    }
    if (now >= forgetAt) {
      measured = 0;
      shortest = took;
      forgetAt = now + FORGETS;
      resize(); // how long the path is now is seen once no queue is left
    }
    if (took < shortest) {
      measured = measured * took / shortest;
      shortest = took;
    }
    if (kept <= aim && 3 * since >= 2 * kept) {
      long holds = since * shortest / Math.max(took, LEAST_TIME);
      measured = Math.max(measured, Math.min(GROWTH * holds, most));
    }
    resize();
    return took;
  }

  // Streams that stand still.

  /**
   * Grants anew what has lain in streams since the last look, so that streams that consume nothing
   * leave the pool to the others.
   */
  void look(long now) {
    lookAt = charged > 0 ? now + LAIN : Session.NEVER;
    look(session.caller.calls());
    look(session.callee.calls);
  }

  private void look(@Nullable Call[] calls) {
    for (Call call : calls) {
      ReceiveFlow flow = call == null ? null : call.receiving;
      if (flow != null) {
        grantAnew(flow);
      }
    }
  }

  private void grantAnew(ReceiveFlow flow) {
    Share share = session.share;
    boolean halfPromised = share.promised * 2 > share.mostPromised;
    if (!flow.moved && flow.lain > flow.anew && !share.exceeded() && !halfPromised) {
      long size = Math.min(flow.lain - flow.anew, MOST_ANEW - anew);
      flow.anew += size;
      anew += size;
      owe(size);
    }
    flow.lain = flow.lies;
    flow.moved = false;
  }
}
