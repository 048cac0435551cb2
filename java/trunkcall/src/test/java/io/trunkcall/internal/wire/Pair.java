package io.trunkcall.internal.wire;

import io.trunkcall.Code;
import io.trunkcall.Metadata;
import java.util.ArrayList;
import java.util.List;

/** An initiator and an acceptor, joined. Calls that start run until a test ends them. */
final class Pair {
  static final MethodName UNARY = new MethodName("/t.S/Unary");
  static final MethodName BOTH = new MethodName("/t.S/Both");
  static final ServedMethod SERVED_UNARY = new ServedMethod("/t.S/Unary", true, null);
  static final ServedMethod SERVED_BOTH = new ServedMethod("/t.S/Both", false, null);
  static final MethodTable METHODS =
      name ->
          switch (name) {
            case "/t.S/Unary" -> SERVED_UNARY;
            case "/t.S/Both" -> SERVED_BOTH;
            default -> null;
          };
  static final byte[] MESSAGE = {'m'};

  /** Keeps calls, and lets them run. */
  static final class Log extends NoEvents {
    final List<IncomingCall> started = new ArrayList<>();
    final List<IncomingCall> stopped = new ArrayList<>();
    final List<OutgoingCall> ended = new ArrayList<>();
    final List<byte[]> answers = new ArrayList<>(); // of those in `ended`, null where there is none
    final List<OutgoingCall> writable = new ArrayList<>();
    final List<String> unserved = new ArrayList<>();
    int slots;
    int overdue;
    int asked;
    int relieved;

    @Override
    public void start(IncomingCall call) {
      started.add(call);
    }

    @Override
    public void stopped(IncomingCall call) {
      stopped.add(call);
    }

    @Override
    public void ended(OutgoingCall call) {
      ended.add(call);
      byte[] answer = null;
      if (call.hasMessage()) {
        answer = new byte[call.length()];
        System.arraycopy(call.array(), call.offset(), answer, 0, answer.length);
      }
      answers.add(answer);
    }

    @Override
    public void writable(OutgoingCall call) {
      writable.add(call);
    }

    @Override
    public void slotFree() {
      slots++;
    }

    @Override
    public void overdue() {
      overdue++;
    }

    @Override
    public void reliefAsked() {
      asked++;
    }

    @Override
    public void relieved() {
      relieved++;
    }

    @Override
    public void unserved(String method, boolean refused, Code code, String text) {
      unserved.add(method + (refused ? " refused: " : " cut: ") + text);
    }
  }

  final Log here = new Log();
  final Log there = new Log();
  final Session client;
  final Session server;

  Pair() {
    this(SessionConfig.builder(), SessionConfig.builder());
    exchange(0);
  }

  /** A pair that has not greeted. */
  Pair(SessionConfig.Builder ofClient, SessionConfig.Builder ofServer) {
    SessionConfig client = ofClient.keepalive(0, 0).build();
    SessionConfig server = ofServer.keepalive(0, 0).build();
    this.client = new Session(here, true, 0, client, MethodTable.EMPTY);
    this.server = new Session(there, false, 0, server, METHODS);
  }

  static Pair greeted(SessionConfig.Builder ofClient, SessionConfig.Builder ofServer) {
    Pair pair = new Pair(ofClient, ofServer);
    pair.exchange(0);
    return pair;
  }

  OutgoingCall unary() {
    return client.unary(UNARY, MESSAGE, 0, 1, 1, 0, null);
  }

  /** Opens a stream in both directions. */
  OutgoingCall stream() {
    Opening opening = new Opening().end(false).single(false);
    OutgoingCall call = client.open(BOTH, null, 0, 0, opening, 0, null);
    exchange(1);
    return call;
  }

  IncomingCall served() {
    return there.started.get(there.started.size() - 1);
  }

  static void answer(IncomingCall call, byte[] message) {
    call.finish(message, 0, message.length, 0, Metadata.EMPTY);
  }

  /** Carries what one side has written to the other, and says whether there was anything. */
  static boolean carry(Session source, Session target, long now) {
    boolean any = false;
    for (byte[] data = Vectors.take(source); data.length > 0; data = Vectors.take(source)) {
      source.wrote(data.length);
      Vectors.receive(target, data, now);
      any = true;
    }
    target.dispatch(now);
    return any;
  }

  void exchange(long now) {
    while (carry(client, server, now) | carry(server, client, now)) {
      // until neither has anything to say
    }
  }

  /** The types of the frames that were written. */
  static List<String> frames(byte[] data) {
    List<String> names = new ArrayList<>();
    for (int at = 0; at < data.length; ) {
      int w0 = Frame.word(data, at);
      names.add(FrameMeaning.TYPES.get(w0 >>> 24));
      at += Frame.HEADER + (w0 & 0xFFFFFF);
    }
    return names;
  }
}
