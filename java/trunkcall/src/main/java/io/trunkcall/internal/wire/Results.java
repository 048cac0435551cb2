package io.trunkcall.internal.wire;

import io.trunkcall.Code;
import io.trunkcall.Delivery;
import io.trunkcall.Metadata;
import io.trunkcall.Status;
import java.time.Duration;

/** What comes for this side's own calls (protocol.md 7.2, 14). */
final class Results {
  private final Session session;
  private final Caller caller;

  Results(Session session, Caller caller) {
    this.session = session;
    this.caller = caller;
  }

  // Frames received. `word` is w1; each has passed the checks of protocol.md 3.

  /**
   * RESULT(OK, MSG) of a call that had no other answer. False: it is something else, or wrong, and
   * {@link #onResult} tells.
   */
  boolean plainResult(int word, int w2, int w3, byte[] data, int start, int stop) {
    OutgoingCall call = caller.slots.find(word);
    if (call == null || call.plain != w2) {
      return false;
    }
    call.state = OutgoingCall.OVER;
    call.serverTime = w3 & StatusPayload.LONGEST;
    call.status = Status.OK;
    call.hasMessage = true;
    call.array = data;
    call.offset = start;
    call.length = stop - start;
    caller.release(call);
    session.events.ended(call);
    call.forget();
    return true;
  }

  void onData(int word, int w2, byte[] data, int start, int stop) throws ConnectionFault {
    OutgoingCall call = caller.slots.find(word);
    if (call == null || call.state == OutgoingCall.ABANDONED) {
      return;
    }
    if (call.oneway) {
      throw new ConnectionFault(ErrorClass.STATE, "an answer to a one-way call");
    }
    boolean first = call.receiving == null;
    call.plain = -1;
    ReceiveFlow flow = receiving(call);
    int flags = w2 >> 16 & 0xFF;
    if ((flags & Frame.META) != 0 && !first) {
      throw new ConnectionFault(ErrorClass.STATE, "metadata on a DATA that is not the first");
    }
    try {
      Body body = session.reader.body;
      body.read(data, start, stop, Frame.DATA, w2, flow.total > 0, session.own);
      Metadata header = body.metadata;
      long total = body.total;
      int payload = body.payload;
      if (header != null) {
        call.header = header;
        session.events.header(call, header);
      }
      if ((flags & Frame.MSG) != 0 && call.state < OutgoingCall.ABANDONED) {
        message(call, flow, w2, total, data, payload, stop);
      }
    } catch (CallFault fault) {
      if (call.state < OutgoingCall.ABANDONED) {
        caller.abandon(
            call,
            Session.CANNOT_TAKE,
            Session.localStatus(code(fault.kind), fault.text(), Delivery.UNKNOWN));
      }
    }
  }

  private ReceiveFlow receiving(OutgoingCall call) {
    ReceiveFlow flow = call.receiving;
    if (flow == null) {
      flow = call.receiving = new ReceiveFlow(session);
      flow.single = call.single;
    }
    return flow;
  }

  private void message(
      OutgoingCall call, ReceiveFlow flow, int w2, long total, byte[] data, int start, int stop)
      throws ConnectionFault, CallFault {
    boolean legal = (w2 >> 24 & 15) == call.codec;
    boolean whole = flow.accept(w2, total, data, start, stop, legal, session.lists(w2 >>> 28));
    if (total > 0) {
      flow.since = session.now;
      session.lateCalls.watch(call);
    }
    if (flow.due()) {
      session.granter.add(call);
    }
    if (whole) {
      session.events.arrived(call);
    }
  }

  private static Code code(ErrorClass kind) {
    return switch (kind) {
      case METADATA_LIMIT, MESSAGE_SIZE, MEMORY -> Code.RESOURCE_EXHAUSTED;
      case MESSAGES -> Code.UNIMPLEMENTED;
      default -> Code.INTERNAL;
    };
  }

  void onCredit(int word, int size) throws ConnectionFault {
    OutgoingCall call = caller.slots.find(word);
    if (call == null || call.state == OutgoingCall.ABANDONED) {
      return;
    }
    SendFlow flow = call.sending;
    if (flow == null) {
      flow = call.sending = new SendFlow(session.peerWindow - call.spent);
    }
    flow.window += size;
    if (flow.window > Frame.MAX_WINDOW) {
      throw new ConnectionFault(ErrorClass.CREDIT, "a window of " + flow.window);
    }
    session.sender.granted(call, flow);
  }

  void onResult(int word, int w2, int w3, byte[] data, int start, int stop) throws ConnectionFault {
    OutgoingCall call = caller.slots.find(word);
    if (call == null) {
      throw new ConnectionFault(ErrorClass.STATE, "a RESULT for a call that is not open");
    }
    if (call.state == OutgoingCall.ABANDONED) {
      caller.release(call);
      return;
    }
    int flags = w2 >> 16 & 0xFF;
    ReceiveFlow flow = call.receiving;
    boolean refused = (flags & Frame.REFUSED) != 0;
    if (refused && flow != null) {
      throw new ConnectionFault(ErrorClass.STATE, "REFUSED behind an answer frame");
    }
    if (call.oneway && (flags & Frame.MSG) != 0) {
      throw new ConnectionFault(ErrorClass.STATE, "an answer to a one-way call");
    }
    if (flow != null && flow.total > 0 && (w2 & 0xFFFF) == 0) {
      throw new ConnectionFault(ErrorClass.PIECE, "RESULT(OK) while a message is in progress");
    }
    Status status = readResult(call, w2, w3, data, start, stop);
    if (!refused) {
      call.serverTime = w3 & StatusPayload.LONGEST;
    }
    caller.release(call);
    call.state = OutgoingCall.OVER;
    caller.end(call, status);
    call.forget();
  }

  private Status readResult(OutgoingCall call, int w2, int w3, byte[] data, int start, int stop)
      throws ConnectionFault {
    int flags = w2 >> 16 & 0xFF;
    Code code = Code.of(w2 & 0xFFFF);
    Delivery delivery = Delivery.EXECUTED;
    Duration retryAfter = Duration.ZERO;
    if ((flags & Frame.REFUSED) != 0) {
      delivery = Delivery.REFUSED;
      retryAfter = Duration.ofMillis(w3 & StatusPayload.LONGEST);
    } else if ((flags & Frame.CUT) != 0) {
      delivery = Delivery.UNKNOWN;
    }
    try {
      Body body = session.reader.body;
      body.read(data, start, stop, Frame.RESULT, w2, false, session.own);
      call.trailers = body.metadata;
      if (code != Code.OK) {
        return failure(code, data, body.payload, stop)
            .withDelivery(delivery)
            .withRetryAfter(retryAfter)
            .withStripped((flags & Frame.STRIPPED) != 0);
      }
      if ((flags & Frame.MSG) != 0) {
        lastMessage(call, w2, data, body.payload, stop);
      }
    } catch (CallFault fault) {
      call.forget();
      return Session.localStatus(code(fault.kind), fault.text(), delivery)
          .withRetryAfter(retryAfter);
    }
    return counted(call);
  }

  private static Status failure(Code code, byte[] data, int start, int stop) {
    try {
      StatusPayload payload = StatusPayload.read(data, start, stop);
      return Status.of(code, payload.message).withDetails(payload.details);
    } catch (CallFault malformed) {
      return Status.of(code, StatusPayload.MALFORMED);
    }
  }

  private void lastMessage(OutgoingCall call, int w2, byte[] data, int start, int stop)
      throws ConnectionFault, CallFault {
    ReceiveFlow flow = receiving(call);
    boolean legal = (w2 >> 24 & 15) == call.codec;
    flow.accept(w2, 0, data, start, stop, legal, session.lists(w2 >>> 28));
    flow.dropLast();
    call.hasMessage = true;
    call.array = data;
    call.offset = start;
    call.length = stop - start;
    call.compression = w2 >>> 28;
  }

  /** OK, unless exactly one answer message was expected and did not come. */
  private Status counted(OutgoingCall call) {
    ReceiveFlow flow = call.receiving;
    int messages = flow == null ? 0 : flow.messages;
    if (!call.single || messages == 1) {
      return Status.OK;
    }
    call.forget();
    String what = messages == 0 ? "no answer message " : "more than one answer message ";
    return Session.localStatus(
        Code.UNIMPLEMENTED, what + ReceiveFlow.ONE_EXPECTED, Delivery.EXECUTED);
  }
}
