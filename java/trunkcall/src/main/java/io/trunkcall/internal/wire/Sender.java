package io.trunkcall.internal.wire;

import java.util.ArrayDeque;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.Set;

/** Lets the messages of all streams into the output, in turn (protocol.md 9.7). */
final class Sender {
  /** With this much window, or pool, a sender never waits for more (protocol.md 9.3). */
  static final int FULL_PIECE = Frame.PIECE_FLOOR + Frame.MESSAGE_COST;

  private final Session session;
  private long room; // what may be spent of the peer's pool
  private final ArrayDeque<Call> singles = new ArrayDeque<>(); // first message goes in one frame
  private final ArrayDeque<Call> pieces = new ArrayDeque<>(); // first message is cut
  private final Set<Call> line = new LinkedHashSet<>(); // wait for credit, their own or the pool's

  Sender(Session session) {
    this.session = session;
  }

  /**
   * Appends the message at once if nothing is in its way, else queues it. False: wait. An array
   * that is not {@code lasting} is the session's own, to be used again.
   */
  boolean send(
      Call call,
      SendFlow flow,
      byte[] array,
      int offset,
      int size,
      int compression,
      boolean lasting) {
    long cost = (long) size + Frame.MESSAGE_COST;
    boolean fromWindow = cost <= flow.window;
    if (flow.outbox.isEmpty()
        && size <= session.peer.maxFrameBody()
        && (fromWindow || cost <= room)
        && session.output.unsent() < Output.ORDINARY_LIMIT) {
      int flags = flow.ended ? Frame.MSG | Frame.END : Frame.MSG;
      if (fromWindow) {
        flow.window -= cost;
      } else {
        room -= cost;
        flags |= Frame.POOL;
      }
      int w2 = compression << 28 | call.codec << 24 | flags << 16;
      session.output.header(Frame.DATA << 24 | size, call.id, w2, 0);
      session.output.bytes(array, offset, size, lasting);
      if (!lasting) {
        session.output.free(array);
      }
      return true;
    }
    queue(call, flow, new SendFlow.Queued(array, offset, size, compression, lasting));
    return flow.outbox.isEmpty();
  }

  /** Queues a message. An answer for which memory is full ends its call. */
  void queue(Call call, SendFlow flow, SendFlow.Queued message) {
    if (call instanceof IncomingCall served && !holds(served, flow, message.length())) {
      return;
    }
    if (flow.outbox.isEmpty()) {
      flow.since = session.now;
    }
    flow.outbox.add(message);
    session.lateCalls.watch(call);
    lineUp(call, flow);
  }

  private boolean holds(IncomingCall call, SendFlow flow, int size) {
    if (flow.holds == 0) {
      flow.order = ++session.share.order;
    }
    try {
      session.share.hold(size, flow);
    } catch (CallFault full) {
      session.callee.lacksRoom(call, full.text());
      return false;
    }
    flow.holds += size;
    return true;
  }

  private void release(SendFlow flow, long size) {
    if (flow.holds > 0) {
      flow.holds -= size;
      session.share.letGo(size);
    }
  }

  /** Puts a stream with something to send into its queue, unless it is there or lacks credit. */
  private void lineUp(Call call, SendFlow flow) {
    SendFlow.Queued first = flow.outbox.peek();
    if (flow.waiting || first == null) {
      return;
    }
    int left = first.length() - flow.sent;
    long cost = (long) left + Frame.MESSAGE_COST;
    long most = Math.max(flow.window, room);
    if (most < FULL_PIECE && cost > most) {
      block(call, flow);
      return;
    }
    flow.blocked = false;
    flow.waiting = true;
    boolean whole = !flow.started && left <= session.peer.maxFrameBody() && cost <= most;
    (whole ? singles : pieces).add(call);
  }

  private void block(Call call, SendFlow flow) {
    flow.blocked = true;
    line.add(call);
  }

  /** The window has grown. */
  void granted(Call call, SendFlow flow) {
    if (flow.blocked) {
      flow.blocked = false;
      lineUp(call, flow);
    }
  }

  /** The pool has grown: as many as it holds pieces for try again, in order. */
  void grantedPool(long size) throws ConnectionFault {
    room += size;
    if (room > Frame.MAX_WINDOW) {
      throw new ConnectionFault(ErrorClass.CREDIT, "a pool of " + room);
    }
    long tries = Math.min(room / FULL_PIECE + 1, line.size());
    for (; tries > 0; tries--) {
      Iterator<Call> first = line.iterator();
      Call call = first.next();
      first.remove();
      SendFlow flow = call.sending;
      if (flow != null) {
        granted(call, flow);
      }
    }
  }

  /** Takes back the last message queued. One of which a piece was appended stays. */
  void withdraw(Call call) {
    SendFlow flow = call.sending;
    if (flow == null || flow.outbox.size() <= (flow.started ? 1 : 0)) {
      return;
    }
    release(flow, flow.outbox.removeLast().length());
    if (!flow.outbox.isEmpty()) {
      return;
    }
    flow.blocked = false;
    if (call instanceof IncomingCall served) {
      if (flow.last) {
        flow.last = false;
        session.callee.drained(served);
      }
    } else if (flow.ended) {
      session.output.frame(Frame.DATA, call.id, Frame.END << 16, 0);
    }
  }

  /** The call is over: what it had queued is discarded. Its place in a queue is skipped. */
  void leave(Call call, SendFlow flow) {
    flow.outbox.clear();
    flow.last = false;
    flow.blocked = false;
    line.remove(call);
    release(flow, flow.holds);
  }

  /** What may be spent of the peer's pool. */
  long room() {
    return room;
  }

  /** How many streams wait for credit. */
  int waitingForCredit() {
    return line.size();
  }

  /** Whether a stream can send. */
  boolean ready() {
    return !singles.isEmpty() || !pieces.isEmpty();
  }

  /** Appends what may enter the next write: at least one piece, if one has credit. */
  void pump(int openCalls) {
    Output output = session.output;
    long limit = openCalls <= 1 ? Output.ONE_CALL_LIMIT : Output.PIECES_LIMIT;
    while (!singles.isEmpty() && output.unsent() < Output.ORDINARY_LIMIT) {
      advance(singles.remove());
    }
    boolean first = true;
    while (!pieces.isEmpty() && (first || output.unsent() < limit)) {
      advance(pieces.remove());
      first = false;
    }
  }

  /** Appends one frame of the stream and puts it back into its queue if there is more. */
  private void advance(Call call) {
    SendFlow flow = call.sending;
    if (flow == null) {
      return;
    }
    flow.waiting = false;
    SendFlow.Queued message = flow.outbox.peek();
    if (message == null) {
      return;
    }
    if (!frame(call, flow, message)) {
      block(call, flow); // others have spent the pool meanwhile
      return;
    }
    if (!flow.outbox.isEmpty()) {
      lineUp(call, flow);
    } else if (call instanceof IncomingCall served) {
      if (flow.last) {
        flow.last = false;
        session.callee.drained(served);
      } else {
        session.events.writable(served);
      }
    } else if (call instanceof OutgoingCall own) {
      session.events.writable(own);
    }
  }

  /**
   * Appends the rest of a message or a piece of it, paid from the window, or else from the pool.
   * False: neither holds it.
   */
  private boolean frame(Call call, SendFlow flow, SendFlow.Queued message) {
    long most = session.peer.maxFrameBody();
    int left = message.length() - flow.sent;
    long cost = (long) left + Frame.MESSAGE_COST;
    int head = flow.started ? 0 : Varint.size(message.length());
    int flags = Frame.MSG;
    int size = left;
    if (left <= most && cost <= flow.window) {
      head = 0;
      flow.window -= cost;
    } else if (flow.window >= FULL_PIECE) {
      flags |= Frame.MORE;
      size = (int) Math.min(most - head, flow.window - Frame.MESSAGE_COST);
      flow.window -= size + Frame.MESSAGE_COST;
    } else if (left <= most && cost <= room) {
      head = 0;
      flags |= Frame.POOL;
      room -= cost;
    } else if (room >= FULL_PIECE) {
      flags |= Frame.MORE | Frame.POOL;
      size = (int) Math.min(most, room - Frame.MESSAGE_COST) - head;
      room -= head + size + Frame.MESSAGE_COST;
    } else {
      return false;
    }
    int offset = message.offset() + flow.sent;
    flow.started = (flags & Frame.MORE) != 0;
    if (flow.started) {
      flow.sent += size;
    } else {
      flow.sent = 0;
      flow.since = session.now;
      flow.outbox.remove();
      if (flow.ended && flow.outbox.isEmpty()) {
        flags |= Frame.END;
      }
    }
    Output output = session.output;
    int w2 = message.compression() << 28 | call.codec << 24 | flags << 16;
    output.header(Frame.DATA << 24 | head + size, call.id, w2, 0);
    if (head > 0) {
      output.varint(message.length());
    }
    output.bytes(message.array(), offset, size, message.lasting());
    if (!flow.started && !message.lasting()) {
      output.free(message.array());
    }
    release(flow, size);
    return true;
  }
}
