package io.trunkcall.internal.wire;

import io.trunkcall.Code;
import io.trunkcall.Metadata;
import io.trunkcall.Status;
import org.jspecify.annotations.Nullable;

/** What handlers say, and the RESULTs of the peer's calls (protocol.md 7.3 to 7.6). */
final class Answers {
  private static final byte[] NOTHING = OutgoingCall.NO_BYTES;

  private final Session session;
  private final Callee callee;

  Answers(Session session, Callee callee) {
    this.session = session;
    this.callee = callee;
  }

  // What a handler says.

  SendFlow sending(IncomingCall call) {
    SendFlow flow = call.sending;
    if (flow == null) {
      flow = call.sending = new SendFlow(session.peerWindow);
    }
    return flow;
  }

  boolean send(
      IncomingCall call, byte[] array, int offset, int length, int compression, boolean lasting) {
    if (call.over()) {
      return true;
    }
    session.checkMessage(length, compression);
    call.answered = true;
    return session.sender.send(call, sending(call), array, offset, length, compression, lasting);
  }

  void sendMetadata(IncomingCall call, Metadata metadata) {
    if (call.over()) {
      return;
    }
    if (call.answered) {
      throw new IllegalStateException("early metadata goes ahead of all messages, once");
    }
    byte[] meta = MetadataBlock.write(metadata, 0, session.peer);
    call.answered = true;
    session.output.frame(Frame.DATA, call.id, Frame.META << 16, 0, meta);
  }

  private byte[] block(Metadata metadata) {
    return metadata.isEmpty() ? NOTHING : MetadataBlock.write(metadata, 0, session.peer);
  }

  /** RESULT(OK, MSG) of a call that said nothing before; false if it has to go the long way. */
  boolean plain(IncomingCall call, byte[] array, int offset, int length) {
    if (call.state != IncomingCall.RUNNING
        || call.returned
        || call.sending != null
        || call.receiving != null
        || length > session.plainSend) {
      return false;
    }
    call.returned = true;
    session.load.returned();
    int w2 = call.codec << 24 | Frame.MSG << 16;
    session.output.header(Frame.RESULT << 24 | length, call.id, w2, serverTime(call));
    session.output.bytes(array, offset, length);
    callee.free(call);
    return true;
  }

  private int serverTime(IncomingCall call) {
    return (int) Math.min(session.now - call.began, StatusPayload.LONGEST);
  }

  /** The handler has returned: with OK and perhaps the last message, or with another status. */
  void finish(
      IncomingCall call, SendFlow.@Nullable Queued message, Status status, Metadata trailers) {
    returned(call);
    if (call.over()) {
      return;
    }
    byte[] meta = block(trailers);
    if (message != null) {
      session.checkMessage(message.length(), message.compression());
      if (withResult(call, message, meta)) {
        return;
      }
      session.sender.send(
          call,
          sending(call),
          message.array(),
          message.offset(),
          message.length(),
          message.compression(),
          message.lasting());
      if (call.over()) {
        return;
      }
    }
    SendFlow flow = call.sending;
    if (flow != null && !flow.outbox.isEmpty()) {
      flow.last = true;
      call.finalStatus = status;
      call.finalMetadata = meta;
      dropRequests(call);
    } else {
      answer(call, status, meta);
    }
  }

  private void returned(IncomingCall call) {
    if (!call.returned) {
      call.returned = true;
      session.load.returned();
    }
  }

  /** Appends RESULT(OK, MSG) if the message fits it now (protocol.md 4.3, 7.4). */
  private boolean withResult(IncomingCall call, SendFlow.Queued message, byte[] meta) {
    SendFlow flow = call.sending;
    long window = flow == null ? session.peerWindow : flow.window;
    int size = message.length();
    boolean waits = flow != null && !flow.outbox.isEmpty();
    if (waits
        || size + Frame.MESSAGE_COST > window
        || meta.length + size > session.peer.maxFrameBody()) {
      return false;
    }
    int flags = meta.length > 0 ? Frame.MSG | Frame.META : Frame.MSG;
    int w2 = message.compression() << 28 | call.codec << 24 | flags << 16;
    int w0 = Frame.RESULT << 24 | meta.length + size;
    session.output.header(w0, call.id, w2, serverTime(call));
    session.output.bytes(meta, 0, meta.length);
    session.output.bytes(message.array(), message.offset(), size, message.lasting());
    if (!message.lasting()) {
      session.output.free(message.array());
    }
    callee.free(call);
    return true;
  }

  private void dropRequests(IncomingCall call) {
    ReceiveFlow flow = call.receiving;
    if (flow != null) {
      flow.dropAll();
      if (flow.due() && !call.requestEnded) {
        session.granter.add(call);
      }
    }
  }

  void drained(IncomingCall call) {
    Status status = call.finalStatus;
    answer(call, status == null ? Status.OK : status, call.finalMetadata);
  }

  private void answer(IncomingCall call, Status status, byte[] meta) {
    if (status.ok()) {
      result(call, 0, meta.length > 0 ? Frame.META : 0, meta, NOTHING, 0);
    } else {
      failure(call, status, 0, meta);
    }
  }

  /** Appends RESULT with a status other than OK; {@code flag}: REFUSED, CUT or 0. */
  private void failure(IncomingCall call, Status status, int flag, byte[] meta) {
    int room = session.peer.maxFrameBody() - meta.length;
    byte[] body = StatusPayload.write(status.message(), status.details());
    boolean stripped = body.length > room;
    if (stripped) {
      body = StatusPayload.shorten(status.message(), room);
    }
    int flags = flag | (meta.length > 0 ? Frame.META : 0);
    if (stripped || status.stripped()) {
      flags |= Frame.STRIPPED;
    }
    unserved(call, flag, status.code(), status.message());
    int retryAfter = StatusPayload.milliseconds(status.retryAfter());
    result(call, status.code().number(), flags, meta, body, retryAfter);
  }

  /** Answers a one-way call that will run (protocol.md 7.5). */
  void accept(IncomingCall call) {
    if (call.state == IncomingCall.RUNNING) {
      result(call, 0, 0, NOTHING, NOTHING, 0);
    }
  }

  /** The layer above refuses a call instead of running its handler. */
  void turnAway(IncomingCall call, Status status, Metadata trailers) {
    byte[] meta = call.over() ? NOTHING : block(trailers);
    returned(call);
    if (!call.over()) {
      failure(call, status, call.answered ? Frame.CUT : Frame.REFUSED, meta);
    }
  }

  // Endings.

  void refuseUntracked(int word, String text) throws ConnectionFault {
    unserved(null, Frame.REFUSED, Code.RESOURCE_EXHAUSTED, text);
    if (!session.output.owe()) {
      throw new ConnectionFault(ErrorClass.FLOOD, "too many refusals and PING ACKs are unsent");
    }
    int w2 = Frame.REFUSED << 16 | Code.RESOURCE_EXHAUSTED.number();
    byte[] body = StatusPayload.shorten(text, session.peer.maxFrameBody());
    session.output.frame(Frame.RESULT, word, w2, Relief.RETRY, body);
  }

  /** Ends a call that runs, or whose handler has returned, with CUT. */
  void cut(IncomingCall call, Code code, String text) {
    if (call.over()) {
      return;
    }
    boolean running = !call.returned;
    end(call, code, text, Frame.CUT, 0);
    if (running) {
      session.events.stopped(call);
    }
  }

  /** Appends the RESULT that the session itself gives. */
  void end(IncomingCall call, Code code, String text, int flag, int retryAfter) {
    unserved(call, flag, code, text);
    byte[] body = StatusPayload.shorten(text, session.peer.maxFrameBody());
    result(call, code.number(), flag, NOTHING, body, retryAfter);
  }

  /** Counts and tells of a call that ends REFUSED or CUT, if that is what {@code flag} says. */
  private void unserved(@Nullable IncomingCall call, int flag, Code code, String text) {
    if (flag != 0) {
      boolean refused = flag == Frame.REFUSED;
      session.load.count(refused);
      session.events.unserved(callee.name(call), refused, code, text);
    }
  }

  private void result(
      IncomingCall call, int low, int flags, byte[] meta, byte[] body, int retryAfter) {
    int w3 = (flags & Frame.REFUSED) != 0 ? retryAfter : serverTime(call);
    int w0 = Frame.RESULT << 24 | meta.length + body.length;
    session.output.header(w0, call.id, low | flags << 16, w3);
    session.output.bytes(meta, 0, meta.length);
    session.output.bytes(body, 0, body.length);
    callee.free(call);
  }
}
