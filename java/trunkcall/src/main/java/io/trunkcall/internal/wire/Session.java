package io.trunkcall.internal.wire;

import io.trunkcall.Code;
import io.trunkcall.Delivery;
import io.trunkcall.Status;
import org.jspecify.annotations.Nullable;

/**
 * All calls of one connection: bytes in, {@link Events} and bytes out; time is a parameter. Not
 * safe for several threads: whoever owns the transport owns the session.
 *
 * <pre>
 * session.receive(array, offset, length, now)  whenever bytes have come; then, when no more can be
 *                                              read at once,
 * session.dispatch(now)                        which starts what was read (protocol.md 10)
 * session.tick(now)                            at session.nextDeadline() at the latest
 * session.endOfStream(now)                     when the peer sends no more
 * session.lost(now, text)                      when the connection broke, or both directions ended
 * session.take(sink)                           after any of these and after calls on streams, until
 *                                              it gives 0, but not while the transport is full
 * session.wrote(bytes)                         as the bytes leave
 * session.halfClose()                          when true and all is written: end the output
 * session.closed()                             when true and all is written: close the transport
 * </pre>
 *
 * <p>Times are whole µs of a clock that does not jump. The session remembers the last one given;
 * {@link #setNow} is called before calls are opened, sent on or cancelled, whose times count from
 * then.
 */
public final class Session {
  /** The time of {@link #nextDeadline} when nothing is due. */
  public static final long NEVER = 1L << 62;

  /** Reason of CANCEL: the caller gave up (protocol.md 7.7). */
  public static final int GAVE_UP = 0;

  /** Reason of CANCEL: its deadline passed. */
  public static final int DEADLINE_PASSED = 1;

  /** Reason of CANCEL: it cannot take the answer. */
  public static final int CANNOT_TAKE = 2;

  final Events events;
  final boolean initiator;
  final Settings own;
  private final int ownCodecs;
  final String codecList;
  final int window;
  final Load load;
  final Output output;
  final Share share;
  final Pool pool;
  final int ownBit; // the initiator bit of this side's calls
  final Caller caller;
  final Results results;
  final Callee callee;
  final Sender sender;
  final Granter granter;
  final LateCalls lateCalls;
  final Lifecycle lifecycle;
  final Reader reader;
  private String remote = ""; // address of the other end, for people
  long now;
  Settings peer = Settings.DEFAULTS;
  int peerWindow = Preface.INITIAL_WINDOW;
  int peerHighest; // version; 0: its preface has not come
  boolean acceptsCalls;
  boolean settling; // the session is to close once all is done
  int plainSend; // the longest message that always fits a CALL or RESULT of its own
  private final boolean[] knownCodecs = new boolean[16];

  /** Has the ends of calls name the address of the other end. */
  public void named(String remote) {
    this.remote = remote;
  }

  /** The connection, for people. */
  String connection() {
    return remote.isEmpty() ? "the connection" : "the connection to " + remote;
  }

  /** The side of a connection that {@code initiator} says, serving {@code methods}. */
  public Session(
      Events events, boolean initiator, long now, SessionConfig config, MethodTable methods) {
    this.events = events;
    this.initiator = initiator;
    this.now = now;
    own = config.settings;
    ownCodecs = config.codecs;
    codecList = config.codecList;
    window = config.window;
    load = config.load;
    output = new Output(config.exact);
    share = load.share(new Relief(this), config.incompleteBytes);
    pool = new Pool(this, own.pool(), config.maxPool);
    ownBit = initiator ? 0 : Frame.INITIATOR_BIT;
    acceptsCalls = initiator;
    caller = new Caller(this, ownBit);
    results = new Results(this, caller);
    callee = new Callee(this, methods, Frame.INITIATOR_BIT - ownBit);
    sender = new Sender(this);
    granter = new Granter(this);
    lateCalls = new LateCalls(this);
    lifecycle = new Lifecycle(this, config.keepalive, config.keepaliveAnswer);
    reader = new Reader(this);
    learnPeer();
  }

  // Opening calls.

  /** Whether calls may be opened, as far as draining and the end of the connection go. */
  public boolean acceptsCalls() {
    return acceptsCalls;
  }

  /** What the session takes for the present. */
  public void setNow(long now) {
    this.now = now;
  }

  /** What the session takes for the present. */
  public long now() {
    return now;
  }

  /**
   * Opens a call with its one request and one answer. See {@link #open}, which this is a quick way
   * of.
   */
  public @Nullable OutgoingCall unary(
      MethodName name,
      byte[] array,
      int offset,
      int length,
      int codec,
      long deadline,
      @Nullable Object user) {
    if (codec >= 0 && codec < knownCodecs.length && knownCodecs[codec]) {
      OutgoingCall call = caller.plainCall(name, array, offset, length, codec, deadline, user);
      if (call != null) {
        return call;
      }
    }
    return open(name, array, offset, length, new Opening().codec(codec), deadline, user);
  }

  /**
   * Opens a call of any kind, with its first message unless {@code array} is null. The session
   * keeps the array, which must not change any more. {@code deadline} is in µs of the session's
   * clock, 0: none; past, the call ends at once: {@link Events#ended} is told before this returns.
   *
   * <p>Null: it cannot be opened now. If {@link #acceptsCalls}, no slot is free, and {@link
   * Events#slotFree} tells when to try again.
   *
   * @throws LimitException for what the peer does not take
   * @throws IllegalArgumentException for what cannot be sent
   */
  public @Nullable OutgoingCall open(
      MethodName name,
      byte @Nullable [] array,
      int offset,
      int length,
      Opening opening,
      long deadline,
      @Nullable Object user) {
    SendFlow.Queued message =
        array == null ? null : new SendFlow.Queued(array, offset, length, opening.compression);
    return caller.open(name, message, opening, deadline, user);
  }

  /** Ends all own calls that are open, with this code; their delivery is unknown. */
  public void cancelAll(Code code, String text) {
    caller.cancelAll(code, text);
  }

  /** Whether calls may be in this codec: both sides have it. */
  public boolean knowsCodec(int codec) {
    return knownCodecs[codec];
  }

  /** Whether a codec is one of this side's own. */
  boolean servesCodec(int codec) {
    if (codec < 0 || codec > 15) {
      return false;
    }
    return codec < 8 ? (ownCodecs >> codec & 1) != 0 : own.codecs().containsKey(codec);
  }

  /** Whether this side has told that it accepts a compression. */
  boolean lists(int compression) {
    return compression == 0 || own.compressions().contains(compression);
  }

  /**
   * Throws LimitException or IllegalArgumentException for a message that the peer would not take
   * (protocol.md 12, limits.md 1).
   */
  void checkMessage(int length, int compression) {
    if (length > peer.maxMessage()) {
      throw new MessageTooLargeException(length, peer.maxMessage());
    }
    if (compression != 0 && (length == 0 || !peer.compressions().contains(compression))) {
      throw new IllegalArgumentException(
          "compression "
              + compression
              + " of "
              + length
              + " bytes: not listed by the peer, or empty");
    }
  }

  /** Makes the tables that follow from the peer's settings. */
  void learnPeer() {
    for (int number = 0; number < knownCodecs.length; number++) {
      String name = own.codecs().get(number);
      knownCodecs[number] =
          number < 8 ? servesCodec(number) : name != null && name.equals(peer.codecs().get(number));
    }
    long most = Math.min(peer.maxFrameBody(), peer.maxMessage());
    plainSend = (int) Math.min(most, peerWindow - Frame.MESSAGE_COST);
  }

  // Writing.

  /**
   * Hands the bytes to be written next to {@code sink}, and gives their number. They count as
   * passed on, unless the configuration is exact.
   */
  public long take(Sink sink) {
    if (granter.due()) {
      granter.append();
    }
    if (pool.due) {
      pool.appendCredit();
    }
    if (sender.ready() && lifecycle.state < Lifecycle.CLOSING) {
      sender.pump(caller.open + callee.open);
    }
    if (settling) {
      lifecycle.settle();
    }
    callee.moved();
    return output.take(sink);
  }

  /** So many more of the bytes taken have left the layer below. */
  public void wrote(long bytes) {
    output.wrote(bytes);
    if (share.drawn() > 0) {
      share.returnSurplus();
    }
  }

  /** Bytes appended that were not written yet. */
  public long unsent() {
    return output.unsent();
  }

  /** Whether the output ends behind what was taken and what {@link #take} still gives. */
  public boolean halfClose() {
    return lifecycle.halfClose;
  }

  /** Whether nothing more is read: the transport is to be closed behind the last bytes. */
  public boolean closed() {
    return lifecycle.state == Lifecycle.CLOSED || lifecycle.done;
  }

  // Reading.

  /**
   * Takes in bytes, however cut. Never throws for what is in them. The array belongs to the caller
   * again when this returns.
   */
  public void receive(byte[] array, int offset, int length, long now) {
    this.now = now;
    lifecycle.receivedAt = now;
    lifecycle.waits = false;
    if (lifecycle.state < Lifecycle.CLOSING) {
      reader.receive(array, offset, length);
    } else {
      lifecycle.discarded(length);
    }
  }

  /** Starts what was read, except calls whose time has run out by now (protocol.md 10). */
  public void dispatch(long now) {
    this.now = now;
    callee.dispatch();
    if (output.pending() > Share.FREE) {
      try {
        share.draw(null); // what the peer does not read counts as held
      } catch (CallFault full) {
        // Others have let go of what they could.
      }
    }
  }

  /** The peer sends no more. */
  public void endOfStream(long now) {
    this.now = now;
    reader.drop();
    lifecycle.endOfStream();
  }

  /** The connection is gone: what is unsent never leaves. {@code text} says why. */
  public void lost(long now, String text) {
    this.now = now;
    reader.drop();
    lifecycle.lost(text);
    share.close();
  }

  // Draining and time.

  /**
   * Asks the peer to open no more calls; what is open goes on (protocol.md 11.4). If {@code
   * calling}, this side may open some until none is open; else it says, with the end of its own
   * calls at the latest, that it opens none.
   */
  public void drain(long now, boolean calling) {
    this.now = now;
    lifecycle.drain(calling);
  }

  /** Ends what is still open and closes (protocol.md 11.5). */
  public void graceOver(long now) {
    this.now = now;
    lifecycle.graceOver();
  }

  /** Does what is due. Cheap when nothing is. */
  public void tick(long now) {
    this.now = now;
    if (lifecycle.state < Lifecycle.CLOSING) {
      caller.tick(now);
      callee.tick(now);
      if (now >= lateCalls.at) {
        lateCalls.look(now);
      }
      if (now >= pool.lookAt) {
        pool.look(now);
      }
    }
    lifecycle.tick(now);
  }

  /**
   * When {@link #tick} is due at the latest, in µs; {@link #NEVER}: not at all. It is never late
   * and may be early.
   */
  public long nextDeadline() {
    long due = Math.min(lifecycle.nextDeadline(), Math.min(caller.earliest, callee.earliest));
    due = Math.min(due, Math.min(lateCalls.at, pool.lookAt));
    return Math.min(due, caller.nextOverdue());
  }

  /** Sends a PING now, whatever the intervals. */
  public void ping() {
    lifecycle.ping();
  }

  /** Frees memory for other sessions: see {@link Events#reliefAsked}. */
  public void relieve(long now) {
    this.now = now;
    share.relieve();
  }

  // What is known of the session.

  /** Whether this side opened the connection. */
  public boolean initiator() {
    return initiator;
  }

  /** The peer's settings: the defaults until its preface has come. */
  public Settings peer() {
    return peer;
  }

  /** Whether the peer's preface has come. */
  public boolean opened() {
    return lifecycle.state >= Lifecycle.OPEN && peerHighest > 0;
  }

  /** The highest version that the peer's preface names, 0 until it has come. */
  public int peerHighestVersion() {
    return peerHighest;
  }

  /** What people are to know of a peer that has not begun to speak; empty once it has. */
  public String unheard(long now) {
    return lifecycle.unheard(now);
  }

  /** Slots taken by own calls, abandoned ones included. */
  public int ownCalls() {
    return caller.open;
  }

  /** The peer's calls that are open. */
  public int servedCalls() {
    return callee.open;
  }

  /** What the last answered PING took, in µs; 0: none was answered. */
  public long roundTrip() {
    return lifecycle.roundTrip;
  }

  /**
   * The part of the open streams' windows that the peer may not use now: messages were not
   * consumed, or their credit was not granted yet.
   */
  public long withheldCredit() {
    long withheld = 0;
    for (Call call : callee.calls) {
      withheld += withheld(call);
    }
    for (Call call : caller.calls()) {
      withheld += withheld(call);
    }
    return withheld;
  }

  private static long withheld(@Nullable Call call) {
    ReceiveFlow flow = call == null || !call.takesCredit() ? null : call.receiving;
    return flow == null ? 0 : Math.max(flow.keep - flow.window, 0);
  }

  /** The size of the pool that this side keeps. */
  public long pool() {
    return pool.kept;
  }

  /** Bytes of it that lie in messages that were not consumed. */
  public long poolHeld() {
    return pool.charged();
  }

  /** What may still be sent beyond the windows of streams. */
  public long peerPool() {
    return sender.room();
  }

  /** Bytes held of messages and queued answers. */
  public long held() {
    return share.held;
  }

  /** What the caller's side says of a call for which no answer speaks. */
  public static Status localStatus(Code code, String message, Delivery delivery) {
    return Status.of(code, message).withDelivery(delivery).withLocal(true);
  }
}
