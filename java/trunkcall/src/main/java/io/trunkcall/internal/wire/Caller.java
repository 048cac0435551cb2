package io.trunkcall.internal.wire;

import io.trunkcall.Code;
import io.trunkcall.Delivery;
import io.trunkcall.Status;
import java.util.LinkedHashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * This side's own calls (protocol.md 7.2): how they are opened, sent on and ended. What comes for
 * them is in {@link Results}.
 */
final class Caller {
  private static final long OVERDUE = 30_000_000; // µs from CANCEL to RESULT (limits.md 3)
  private static final byte[] NO_METADATA = OutgoingCall.NO_BYTES;

  /** How a call ends whose deadline has passed. */
  static final Status LATE =
      Session.localStatus(Code.DEADLINE_EXCEEDED, "the deadline passed", Delivery.UNKNOWN);

  private final Session session;
  final Slots slots;
  private final Set<OutgoingCall> abandoned = new LinkedHashSet<>(); // by when CANCEL was appended
  int open;
  long earliest = Session.NEVER; // no call runs out before
  boolean overdue;
  private boolean wanted; // a call found no slot

  Caller(Session session, int ownBit) {
    this.session = session;
    this.slots = new Slots(session, ownBit, session.peer.maxCalls());
  }

  /** The open calls, by slot. */
  @Nullable OutgoingCall[] calls() {
    return slots.calls;
  }

  /** How many calls keep the connection. One whose RESULT is overdue does not, nor those behind. */
  int live() {
    return overdue ? open - abandoned.size() : open;
  }

  // Opening.

  /** A call with its one request and one answer, if nothing is in its way; else null. */
  @Nullable OutgoingCall plainCall(
      MethodName name,
      byte[] array,
      int offset,
      int length,
      int codec,
      long deadline,
      @Nullable Object user) {
    int method = slots.knownId(name);
    if (method == 0 || length > session.plainSend || !session.acceptsCalls || !slots.ready()) {
      return null;
    }
    long remaining = 0;
    if (deadline != 0) {
      remaining = deadline - session.now;
      if (remaining < 1 || remaining > StatusPayload.LONGEST) {
        return null;
      }
      earliest = Math.min(earliest, deadline);
    }
    OutgoingCall call = take(codec, deadline, user);
    call.spent = length + Frame.MESSAGE_COST;
    int w2 = codec << 24 | (Frame.MSG | Frame.END) << 16 | method;
    session.output.header(Frame.CALL << 24 | length, call.id, w2, (int) remaining);
    session.output.bytes(array, offset, length);
    return call;
  }

  private OutgoingCall take(int codec, long deadline, @Nullable Object user) {
    OutgoingCall call = new OutgoingCall(session, slots.next(), codec, deadline, user);
    call.plain = codec << 24 | Frame.MSG << 16;
    call.position = session.output.position();
    slots.put(call);
    open++;
    return call;
  }

  /** See {@link Session#open}. */
  @Nullable OutgoingCall open(
      MethodName name,
      SendFlow.@Nullable Queued message,
      Opening opening,
      long deadline,
      @Nullable Object user) {
    if (!session.acceptsCalls) {
      return null;
    }
    if (!slots.ready()) {
      wanted = true;
      return null;
    }
    if (name.bytes.length < 1 || name.bytes.length > Body.MAX_NAME) {
      throw new IllegalArgumentException("a method name of " + name.bytes.length + " bytes");
    }
    if (!session.servesCodec(opening.codec)) {
      throw new IllegalArgumentException("codec " + opening.codec + " is not configured");
    }
    if (message != null) {
      session.checkMessage(message.length(), message.compression());
    }
    byte[] meta =
        opening.metadata.isEmpty() && opening.attempt == 0
            ? NO_METADATA
            : MetadataBlock.write(opening.metadata, opening.attempt, session.peer);
    long remaining = 0;
    if (deadline != 0) {
      remaining = Math.min(deadline - session.now, StatusPayload.LONGEST);
      if (remaining < 1) {
        return unsent(user);
      }
      earliest = Math.min(earliest, deadline);
    }
    int method = opening.inline ? 0 : slots.id(name);
    OutgoingCall call = take(opening.codec, deadline, user);
    call.single = opening.single && !opening.oneway;
    call.oneway = opening.oneway;
    if (opening.oneway) {
      call.plain = -1;
    }
    append(call, method, name, meta, (int) remaining, message, opening.end || opening.oneway);
    return call;
  }

  private OutgoingCall unsent(@Nullable Object user) {
    OutgoingCall call = new OutgoingCall(session, 0, 0, 0, user);
    call.state = OutgoingCall.OVER;
    String text = "the deadline passed before the call was sent";
    call.status = Session.localStatus(Code.DEADLINE_EXCEEDED, text, Delivery.NOT_SENT);
    session.events.ended(call);
    return call;
  }

  private void append(
      OutgoingCall call,
      int method,
      MethodName name,
      byte[] meta,
      int remaining,
      SendFlow.@Nullable Queued message,
      boolean end) {
    byte[] head = meta;
    if (method == 0) {
      head = new ByteBuilder().bytes(meta).counted(name.bytes).build();
    }
    int flags = (meta.length > 0 ? Frame.META : 0) | (call.oneway ? Frame.ONEWAY : 0);
    int most = Math.min(session.peer.maxFrameBody(), session.peerWindow - Frame.MESSAGE_COST);
    int room = most - head.length;
    int size = 0;
    boolean cut = false;
    if (message != null && message.length() <= room) {
      flags |= Frame.MSG | (end ? Frame.END : 0);
      size = message.length();
    } else if (message != null && call.oneway) {
      // A cut message may begin with MSG in the CALL; one with ONEWAY has to.
      cut = true;
      flags |= Frame.MSG | Frame.MORE;
      head = new ByteBuilder().bytes(head).varint(message.length()).build();
      size = room - Varint.size(message.length());
    } else if (message == null && end) {
      flags |= Frame.END;
    }
    boolean carries = (flags & Frame.MSG) != 0;
    if ((flags & Frame.END) == 0) {
      call.state = OutgoingCall.OPEN;
      call.plain = -1;
    }
    int compression = carries && message != null ? message.compression() : 0;
    int w2 = compression << 28 | call.codec << 24 | flags << 16 | method;
    Output output = session.output;
    output.header(Frame.CALL << 24 | head.length + size, call.id, w2, remaining);
    output.bytes(head, 0, head.length);
    if (carries && message != null) {
      output.bytes(message.array(), message.offset(), size);
      call.spent = size + Frame.MESSAGE_COST;
    }
    if (call.state != OutgoingCall.OPEN) {
      return;
    }
    SendFlow flow = new SendFlow(session.peerWindow - call.spent);
    flow.ended = end;
    call.sending = flow;
    if (message != null && (!carries || cut)) {
      if (end) {
        call.state = OutgoingCall.ENDED;
      }
      flow.sent = cut ? size : 0;
      flow.started = cut;
      session.sender.queue(call, flow, message);
    }
  }

  // What the user does with an open call.

  boolean send(
      OutgoingCall call,
      byte[] array,
      int offset,
      int length,
      int compression,
      boolean end,
      boolean lasting) {
    SendFlow flow = call.sending;
    if (call.state >= OutgoingCall.ABANDONED) {
      return true;
    }
    if (call.state == OutgoingCall.ENDED || flow == null) {
      throw new IllegalStateException("a message after the half-close");
    }
    session.checkMessage(length, compression);
    if (end) {
      call.state = OutgoingCall.ENDED;
      flow.ended = true;
    }
    return session.sender.send(call, flow, array, offset, length, compression, lasting);
  }

  void halfClose(OutgoingCall call) {
    SendFlow flow = call.sending;
    if (call.state != OutgoingCall.OPEN || flow == null) {
      return;
    }
    call.state = OutgoingCall.ENDED;
    flow.ended = true;
    if (flow.outbox.isEmpty()) {
      session.output.frame(Frame.DATA, call.id, Frame.END << 16, 0);
    }
  }

  void cancel(OutgoingCall call, int reason) {
    if (call.state < OutgoingCall.ABANDONED) {
      abandon(
          call,
          reason,
          Session.localStatus(Code.CANCELLED, "cancelled by the caller", Delivery.UNKNOWN));
    }
  }

  /** Ends the call for the user and appends CANCEL; its slot stays taken until RESULT. */
  void abandon(OutgoingCall call, int reason, Status status) {
    session.output.frame(Frame.CANCEL, call.id, 0, reason);
    call.state = OutgoingCall.ABANDONED;
    call.plain = -1;
    call.abandonedAt = session.now;
    abandoned.add(call);
    end(call, status);
  }

  // Endings.

  /** RESULT has come: the slot is free for the next generation. */
  void release(OutgoingCall call) {
    slots.free(call.id);
    open--;
    if (call.state == OutgoingCall.ABANDONED) {
      abandoned.remove(call);
      call.state = OutgoingCall.OVER;
    }
    if (wanted) {
      wanted = false;
      session.events.slotFree();
    }
  }

  void end(OutgoingCall call, Status status) {
    call.status = status;
    call.deadline = 0;
    SendFlow sending = call.sending;
    if (sending != null) {
      session.sender.leave(call, sending);
    }
    ReceiveFlow flow = call.receiving;
    if (flow != null) {
      flow.dropUnfinished();
      flow.close();
      if (call.state == OutgoingCall.ABANDONED) {
        flow.dropAll();
      }
    }
    session.events.ended(call);
  }

  /**
   * Ends every call without RESULT. {@code lost}: nothing more will be passed on, so that a CALL
   * not passed on by now is not_sent, unless the delivery is known.
   */
  void endAll(Code code, String text, @Nullable Delivery known, boolean lost) {
    long passed = session.output.passed();
    OutgoingCall[] all = slots.calls.clone();
    slots.clear();
    abandoned.clear();
    open = 0;
    for (OutgoingCall call : all) {
      if (call != null && call.state < OutgoingCall.ABANDONED) {
        boolean stayed = lost && call.position >= passed;
        Delivery delivery = stayed ? Delivery.NOT_SENT : Delivery.UNKNOWN;
        call.state = OutgoingCall.OVER;
        end(call, Session.localStatus(code, text, known == null ? delivery : known));
      }
    }
  }

  void cancelAll(Code code, String text) {
    Status status = Session.localStatus(code, text, Delivery.UNKNOWN);
    for (OutgoingCall call : slots.calls.clone()) {
      if (call != null && call.state < OutgoingCall.ABANDONED) {
        abandon(call, Session.GAVE_UP, status);
      }
    }
  }

  // Time and settings.

  void tick(long now) {
    if (now >= nextOverdue()) {
      overdue = true;
      session.lifecycle.update();
      session.events.overdue();
    }
    if (now < earliest) {
      return;
    }
    long next = Session.NEVER;
    for (OutgoingCall call : slots.calls.clone()) {
      if (call == null || call.deadline == 0) {
        continue;
      }
      if (call.deadline > now) {
        next = Math.min(next, call.deadline);
      } else {
        abandon(call, Session.DEADLINE_PASSED, LATE);
      }
    }
    earliest = next;
  }

  /** When the oldest missing RESULT is overdue (protocol.md 7.2). */
  long nextOverdue() {
    return overdue || abandoned.isEmpty()
        ? Session.NEVER
        : abandoned.iterator().next().abandonedAt + OVERDUE;
  }

  /** The peer's preface has come (protocol.md 2.4). */
  void told(int maxCalls, int moreWindow, int pool) throws ConnectionFault {
    slots.told(maxCalls);
    for (OutgoingCall call : slots.calls) {
      SendFlow flow = call == null ? null : call.sending;
      if (call != null && flow != null) {
        flow.window += moreWindow;
        session.sender.granted(call, flow);
      }
    }
    session.sender.grantedPool(pool);
  }
}
