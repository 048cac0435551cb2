package io.trunkcall.internal.wire;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.trunkcall.Code;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The peer's calls (protocol.md 7.3 to 7.6), from their frames to the start of their handlers. What
 * the handlers say, and how calls end, is in {@link Answers}.
 */
final class Callee {
  private final Session session;
  private final Answers answers;
  private final Names names;
  private final int firstWord; // w1 of the first CALL on a slot, without the slot
  @Nullable IncomingCall[] calls = new IncomingCall[1]; // by slot
  // w1 of the next CALL on each slot; 0 while it is taken. 1 is the word of no CALL.
  private int[] words = {1};
  private List<IncomingCall> ready = new ArrayList<>();
  private List<IncomingCall> starting = new ArrayList<>();
  // Slots of calls whose RESULT has not moved to the writer yet.
  private int[] finished = new int[16];
  private int finishedCount;
  int open;
  long earliest = Session.NEVER; // no call runs out before
  private byte[] asked = OutgoingCall.NO_BYTES; // the name in the CALL at hand, once it was read

  Callee(Session session, MethodTable served, int peerBit) {
    this.session = session;
    this.answers = new Answers(session, this);
    this.names = new Names(served);
    this.firstWord = peerBit | Frame.FIRST_GENERATION;
  }

  /** What handlers say, and how calls end. */
  Answers answers() {
    return answers;
  }

  // Frames received. `word` is w1; each has passed the checks of protocol.md 3.

  private @Nullable IncomingCall find(int word) {
    int slot = word & Frame.SLOT;
    IncomingCall call = slot < calls.length ? calls[slot] : null;
    return call != null && call.id == word ? call : null;
  }

  void onDefine(int id, byte[] data, int start, int stop) throws ConnectionFault {
    if (!names.define(id, Body.readDefine(data, start, stop))) {
      throw new ConnectionFault(ErrorClass.METHOD, "id " + id + " is defined again");
    }
  }

  /**
   * CALL(MSG, END) of a method that takes one message. False: it is something else, or wrong, and
   * {@link #onCall} tells.
   */
  boolean plainCall(int word, int w2, int w3, byte[] data, int start, int stop) {
    int slot = word & Frame.SLOT;
    if (slot >= words.length || words[slot] != word) {
      return false;
    }
    ServedMethod method = names.known(w2 & 0xFFFF);
    int codec = w2 >> 24 & 15;
    if (method == null || !method.takesOne || !session.knowsCodec(codec)) {
      return false;
    }
    IncomingCall call = admit(word, codec, w3);
    call.method = method;
    call.message = Arrays.copyOfRange(data, start, stop);
    call.requestEnded = true;
    makeReady(call);
    return true;
  }

  void onCall(int word, int w2, int w3, byte[] data, int start, int stop) throws ConnectionFault {
    int id = w2 & 0xFFFF;
    byte[] name = id == 0 ? OutgoingCall.NO_BYTES : names.name(id);
    if (name == null) {
      throw new ConnectionFault(ErrorClass.METHOD, "CALL with id " + id + ", which is not defined");
    }
    asked = name;
    int slot = word & Frame.SLOT;
    if (slot > session.own.maxCalls()) {
      answers.refuseUntracked(word, "max_calls is " + session.own.maxCalls());
      return;
    }
    grow(slot);
    if (words[slot] != word) {
      throw new ConnectionFault(
          ErrorClass.STATE, "CALL on slot " + slot + ", which is taken, or of a wrong generation");
    }
    IncomingCall call = admit(word, w2 >> 24 & 15, w3);
    call.oneway = (w2 >> 16 & Frame.ONEWAY) != 0;
    try {
      Body body = session.reader.body;
      body.read(data, start, stop, Frame.CALL, w2, false, session.own);
      begin(call, w2, body, data, stop);
    } catch (CallFault fault) {
      fault(call, fault);
    }
  }

  private void grow(int slot) {
    int before = words.length;
    if (slot < before) {
      return;
    }
    int size = Math.min(Math.max(slot + 1, 2 * before), session.own.maxCalls() + 1);
    words = Arrays.copyOf(words, size);
    for (int i = before; i < size; i++) {
      words[i] = firstWord | i;
    }
    calls = Arrays.copyOf(calls, size);
  }

  private IncomingCall admit(int word, int codec, int w3) {
    long deadline = 0;
    if (w3 != 0 && w3 != -1) {
      deadline = session.now + (w3 & StatusPayload.LONGEST);
      earliest = Math.min(earliest, deadline);
    }
    IncomingCall call = new IncomingCall(session, word, codec, deadline, session.now);
    int slot = word & Frame.SLOT;
    words[slot] = 0;
    calls[slot] = call;
    open++;
    return call;
  }

  private void begin(IncomingCall call, int w2, Body body, byte[] data, int stop)
      throws ConnectionFault, CallFault {
    int flags = w2 >> 16 & 0xFF;
    call.metadata = body.metadata;
    call.attempt = body.attempt;
    byte[] inline = body.name;
    call.requestEnded = (flags & Frame.END) != 0;
    boolean whole = false;
    CallFault full = null;
    if ((flags & Frame.MSG) != 0) {
      try {
        whole = message(call, w2, body.total, data, body.payload, stop);
      } catch (CallFault fault) {
        if (fault.kind != ErrorClass.MEMORY) {
          throw fault;
        }
        full = fault; // looked at behind all that is at fault with the call (protocol.md 4.6)
      }
    }
    ServedMethod method;
    if (inline == null) {
      method = names.find(w2 & 0xFFFF, asked);
    } else {
      asked = inline;
      method = names.find(inline);
    }
    if (method == null) {
      boolean byClient = session.initiator;
      throw new CallFault(
          ErrorClass.UNKNOWN_METHOD,
          "method "
              + new String(asked, UTF_8)
              + " is not served by this "
              + (byClient ? "client" : "server"));
    }
    if (!session.knowsCodec(call.codec)) {
      throw new CallFault(ErrorClass.CODEC, unknownCodec(call.codec));
    }
    if (session.lifecycle.turnsAway(session.now)) {
      answers.end(call, Code.UNAVAILABLE, "this server is draining", Frame.REFUSED, 1);
      return;
    }
    if (full != null) {
      throw full;
    }
    call.method = method;
    if (!method.takesOne && !call.oneway) {
      makeReady(call);
      return;
    }
    if (!call.requestEnded) {
      receiving(call).takeOne();
    }
    awaitOne(call, whole);
  }

  private String unknownCodec(int codec) {
    String theirs = session.peer.codecs().get(codec);
    String only = session.codecList.isEmpty() ? "" : ", only " + session.codecList;
    String name = theirs == null ? "" : " (" + theirs + ")";
    return "codec " + codec + name + " is not known here" + only;
  }

  private void makeReady(IncomingCall call) {
    call.state = IncomingCall.READY;
    ready.add(call);
  }

  /** A method that takes one message starts when it is whole and END is there (protocol.md 7.4). */
  private void awaitOne(IncomingCall call, boolean whole) throws CallFault {
    if (!call.requestEnded) {
      return;
    }
    ReceiveFlow flow = call.receiving;
    if (flow == null || flow.messages == 0) {
      throw new CallFault(ErrorClass.MESSAGES, "no message " + ReceiveFlow.ONE_EXPECTED);
    }
    if (whole || flow.waiting() > 0) {
      makeReady(call);
    }
  }

  private boolean message(IncomingCall call, int w2, long total, byte[] data, int start, int stop)
      throws ConnectionFault, CallFault {
    ReceiveFlow flow = receiving(call);
    int codec = w2 >> 24 & 15;
    boolean legal = codec == call.codec && session.knowsCodec(codec);
    boolean whole = flow.accept(w2, total, data, start, stop, legal, session.lists(w2 >>> 28));
    if (total > 0) {
      flow.since = session.now;
      session.lateCalls.watch(call);
    }
    if (flow.due() && !call.requestEnded) {
      session.granter.add(call);
    }
    return whole;
  }

  private ReceiveFlow receiving(IncomingCall call) {
    ReceiveFlow flow = call.receiving;
    if (flow == null) {
      flow = call.receiving = new ReceiveFlow(session);
      flow.dropping = call.returned;
    }
    return flow;
  }

  void onData(int word, int w2, byte[] data, int start, int stop) throws ConnectionFault {
    IncomingCall call = find(word);
    if (call == null) {
      return;
    }
    int flags = w2 >> 16 & 0xFF;
    if (call.requestEnded) {
      throw new ConnectionFault(ErrorClass.STATE, "DATA behind END");
    }
    if (call.oneway && (flags & (Frame.MSG | Frame.MORE | Frame.END)) == Frame.MSG) {
      throw new ConnectionFault(ErrorClass.STATE, "the message of a one-way call without END");
    }
    ReceiveFlow flow = call.receiving;
    boolean inMessage = flow != null && flow.total > 0;
    if (inMessage && (flags & (Frame.END | Frame.MSG)) == Frame.END) {
      throw new ConnectionFault(ErrorClass.PIECE, "END while a message is in progress");
    }
    try {
      Body body = session.reader.body;
      body.read(data, start, stop, Frame.DATA, w2, inMessage, session.own);
      if ((flags & Frame.END) != 0) {
        call.requestEnded = true;
      }
      boolean whole =
          (flags & Frame.MSG) != 0 && message(call, w2, body.total, data, body.payload, stop);
      advance(call, whole);
    } catch (CallFault fault) {
      fault(call, fault);
    }
  }

  private void advance(IncomingCall call, boolean whole) throws CallFault {
    if (call.state == IncomingCall.RECEIVING) {
      awaitOne(call, whole);
    } else if (call.state == IncomingCall.RUNNING && !call.returned) {
      if (whole) {
        session.events.arrived(call);
      }
      if (call.requestEnded && call.state == IncomingCall.RUNNING) {
        session.events.halfClosed(call);
      }
    }
  }

  /** What is at fault with a call ends it (protocol.md 15, 9.6). */
  private void fault(IncomingCall call, CallFault fault) {
    Code code =
        switch (fault.kind) {
          case METADATA, NAME -> Code.INVALID_ARGUMENT;
          case METADATA_LIMIT, MESSAGE_SIZE, MEMORY -> Code.RESOURCE_EXHAUSTED;
          default -> Code.UNIMPLEMENTED;
        };
    if (call.state == IncomingCall.RUNNING) {
      answers.cut(call, code, fault.text());
    } else if (call.state < IncomingCall.RUNNING) {
      int retryAfter = fault.kind == ErrorClass.MEMORY ? Relief.RETRY : 0;
      answers.end(call, code, fault.text(), Frame.REFUSED, retryAfter);
    }
  }

  void onCredit(int word, int size) throws ConnectionFault {
    IncomingCall call = find(word);
    if (call == null) {
      return;
    }
    SendFlow flow = answers.sending(call);
    flow.window += size;
    if (flow.window > Frame.MAX_WINDOW) {
      throw new ConnectionFault(ErrorClass.CREDIT, "a window of " + flow.window);
    }
    session.sender.granted(call, flow);
  }

  void onCancel(int word) {
    IncomingCall call = find(word);
    if (call != null) {
      stop(call, Code.CANCELLED, "cancelled by the caller", 0);
    }
  }

  /** The name that a call asked for, as far as it is known. */
  String name(@Nullable IncomingCall call) {
    ServedMethod method = call == null ? null : call.method;
    return method != null ? method.name() : new String(asked, UTF_8);
  }

  // Starting.

  void dispatch() {
    while (!ready.isEmpty()) {
      List<IncomingCall> now = ready;
      ready = starting;
      starting = now;
      for (int i = 0; i < now.size(); i++) {
        IncomingCall call = now.get(i);
        if (call.state == IncomingCall.READY) {
          start(call);
        }
      }
      now.clear();
    }
  }

  private void start(IncomingCall call) {
    if (call.deadline != 0 && call.deadline <= session.now) {
      String text = "the deadline passed before the start";
      answers.end(call, Code.DEADLINE_EXCEEDED, text, Frame.REFUSED, 0);
      return;
    }
    if (!session.load.tryStart()) {
      String text = session.load.runningLimit + " handlers are running, which is the limit";
      answers.end(call, Code.RESOURCE_EXHAUSTED, text, Frame.REFUSED, Relief.RETRY);
      return;
    }
    call.state = IncomingCall.RUNNING;
    ReceiveFlow flow = call.receiving;
    boolean takesOne = call.method().takesOne;
    if (flow != null && (takesOne || call.oneway)) {
      Message message = flow.take();
      if (message != null) {
        call.ownMessage = message;
        call.compression = message.compression();
        flow.received(message.length());
      }
    }
    Events events = session.events;
    events.start(call);
    for (int waiting = flow == null ? 0 : flow.waiting(); waiting > 0; waiting--) {
      if (call.state == IncomingCall.RUNNING && !call.returned) {
        events.arrived(call);
      }
    }
    boolean ended = call.requestEnded && !takesOne && !call.returned;
    if (ended && call.state == IncomingCall.RUNNING) {
      events.halfClosed(call);
    }
  }

  // Endings.

  /** The messages of a call whose handler has returned are appended: now its RESULT. */
  void drained(IncomingCall call) {
    answers.drained(call);
  }

  /** There is no memory for what its handler wants to say. */
  void lacksRoom(IncomingCall call, String text) {
    stop(call, Code.RESOURCE_EXHAUSTED, text, Relief.RETRY);
  }

  /** Ends a call for CANCEL, time or a limit: REFUSED or CUT, as the handler has started or not. */
  void stop(IncomingCall call, Code code, String text, int retryAfter) {
    if (call.state == IncomingCall.RUNNING) {
      answers.cut(call, code, text);
    } else {
      answers.end(call, code, text, Frame.REFUSED, retryAfter);
    }
  }

  /** The RESULT of a call is appended, or none can be: it is over. */
  void free(IncomingCall call) {
    call.state = IncomingCall.DONE;
    calls[call.id & Frame.SLOT] = null;
    if (finishedCount == finished.length) {
      finished = Arrays.copyOf(finished, 2 * finishedCount);
    }
    finished[finishedCount++] = call.id;
    open--;
    SendFlow sending = call.sending;
    if (sending != null) {
      session.sender.leave(call, sending);
    }
    ReceiveFlow receiving = call.receiving;
    if (receiving != null) {
      receiving.dropAll();
    }
  }

  /**
   * The RESULTs appended so far are with the writer: their slots may be used again (protocol.md
   * 7.1).
   */
  void moved() {
    for (int i = 0; i < finishedCount; i++) {
      int word = finished[i];
      words[word & Frame.SLOT] = Frame.nextGeneration(word);
    }
    finishedCount = 0;
  }

  /** How many slots are taken by calls whose RESULT has not moved to the writer. */
  int unmoved() {
    return finishedCount;
  }

  /** The input has ended: no RESULT, and handlers are told (protocol.md 11.7). */
  void stopAll() {
    for (IncomingCall call : calls.clone()) {
      if (call == null || call.state == IncomingCall.DONE) {
        continue;
      }
      boolean running = call.state == IncomingCall.RUNNING && !call.returned;
      free(call);
      if (running) {
        session.events.stopped(call);
      }
    }
  }

  void endOfGrace(String text) {
    for (IncomingCall call : calls.clone()) {
      if (call != null && call.state != IncomingCall.DONE) {
        stop(call, Code.UNAVAILABLE, text, Relief.RETRY);
      }
    }
  }

  void tick(long now) {
    if (now < earliest) {
      return;
    }
    long next = Session.NEVER;
    for (IncomingCall call : calls.clone()) {
      if (call == null || call.deadline == 0 || call.state == IncomingCall.DONE) {
        continue;
      }
      if (call.deadline > now) {
        next = Math.min(next, call.deadline);
      } else {
        stop(call, Code.DEADLINE_EXCEEDED, "the deadline passed", 0);
      }
    }
    earliest = next;
  }
}
