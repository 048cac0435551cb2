package io.trunkcall.internal.transport.http;

import io.netty.handler.codec.http2.Http2Connection;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2LocalFlowController;
import io.netty.handler.codec.http2.Http2Stream;
import io.trunkcall.internal.wire.Share;
import java.util.HashSet;
import java.util.Set;

/**
 * Windows that learn the path, as the pool of native connections does (limits.md 5, decision 0034).
 * A PING measures what comes until its ACK; if that was two thirds of a window, at a higher rate
 * than when one last grew, the window was too small for the path.
 *
 * <p>What was learned goes to streams in two ways, each of which is bounded by {@link #most} for
 * all streams together. SETTINGS say with how much they begin ({@link #tell}), the less the more
 * there are at once, and the more of it lies unread in others ({@link #part}). Streams whose
 * handlers consume what arrives are lent the rest ({@link #lend}).
 */
final class Windows {
  private static final int LEAST_MEASURED = 64 << 10; // bytes until the next PING, at first
  private static final int MOST_MEASURED = 4 << 20;
  private static final long MEASURES_WITHIN = 10_000_000; // µs: a later ACK measures nothing
  private static final long IDLE_SHRINKS = 60_000_000; // µs without DATA
  private static final double RISEN = 1.1; // a rate that shows that larger windows have helped
  private static final long PATH_PING = 0x70617468L << 32; // which PING it is, behind it its round

  /** What a connection says for its windows. */
  interface Says {
    void ping(long data);

    /** Says in SETTINGS with which window streams begin. */
    void begin(int window);
  }

  private final Http2LocalFlowController flow;
  private final Http2Stream whole; // which stands for all streams
  private final Share share;
  private final HttpConfig config;
  private final Says says;

  private long stream; // the window of streams whose handlers take what comes
  private long all; // that of the connection
  private long told; // what streams begin with, as the last SETTINGS said
  private long lent; // by how much the windows of open streams exceed that together
  private boolean asked = true; // the peer has not acknowledged the last SETTINGS
  private boolean withheld; // nor gets credit for the connection before it does
  private int open; // streams
  private int streams; // the most at once in this round
  private int before; // and in the one before
  private final Set<Inbound> full = new HashSet<>(); // those with something beyond
  private long dataAt; // later by the minutes that windows were halved for

  private int round;
  private boolean pinged; // its PING was not answered yet
  private long pingedAt;
  private long since; // bytes of DATA since then
  private long every = LEAST_MEASURED; // how many there must be before the next
  private long filled; // the most since then that came of a stream, if two thirds of its window
  private double rate; // bytes in a µs when a window last grew; 0: none has

  /** What is known of one stream. */
  static final class Inbound {
    private final Http2Stream stream;
    private long lent; // by how much its window exceeds what streams begin with
    private long beyond; // what lies unread in it above what it was lent and had at first
    private int round;
    private long sampled; // bytes that came in this round

    private Inbound(Http2Stream stream) {
      this.stream = stream;
    }
  }

  Windows(
      Http2Connection connection,
      Http2LocalFlowController flow,
      Share share,
      HttpConfig config,
      Says says) {
    this.flow = flow;
    this.whole = connection.connectionStream();
    this.share = share;
    this.config = config;
    this.says = says;
    this.stream = config.session().window();
    this.told = stream;
    this.all = leastOfAll();
    this.dataAt = config.now();
  }

  private long leastOfAll() {
    return Math.max(Http2.CONNECTION_WINDOW, config.session().window());
  }

  /** The connection begins with more than the protocol says. */
  void start() throws Http2Exception {
    flow.incrementWindowSize(whole, (int) (all - flow.initialWindowSize(whole)));
  }

  /** To what windows may grow, and all streams together beyond what they began with. */
  private long most() {
    return Math.min(config.mostWindow(), share.part());
  }

  // What the peer sends.

  /** A stream was opened. */
  Inbound opened(Http2Stream one) {
    open++;
    streams = Math.max(streams, open);
    tell();
    return new Inbound(one);
  }

  /** It is closed: nothing is lent to it any more. */
  void closed(Inbound of) {
    open--;
    lent -= of.lent;
    full.remove(of);
  }

  /** DATA has come of a stream. */
  void arrived(Inbound of, int length) {
    long now = config.now();
    long least = config.session().window();
    long leastOfAll = leastOfAll();
    while (now - dataAt >= IDLE_SHRINKS && (stream > least || all > leastOfAll)) {
      dataAt += IDLE_SHRINKS;
      stream = Math.max(stream / 2, least);
      resize(Math.max(all / 2, leastOfAll));
      rate = 0; // the path may have changed
      every = LEAST_MEASURED;
      tell();
    }
    dataAt = now;
    since += length;
    if (of.round != round) {
      of.round = round;
      of.sampled = 0;
    }
    of.sampled += length;
    count(of);
    if (3 * of.sampled >= 2L * flow.initialWindowSize(of.stream)) {
      filled = Math.max(filled, of.sampled);
    }
  }

  /** A message of a stream begins, whose length is known. */
  void expect(Inbound of, long length) {
    long wanted = length + length / 2;
    if (wanted <= flow.initialWindowSize(of.stream) || share.exceeded()) {
      return;
    }
    enlarge(wanted, false);
    tell();
    lend(of, Math.min(wanted, stream));
  }

  /** The handler of a stream takes what comes: its window becomes as large as the path needs. */
  void fit(Inbound of) {
    long window = share.exceeded() ? told : stream;
    long has = flow.initialWindowSize(of.stream);
    if (window > has) {
      lend(of, window);
    } else if (window < has && of.lent > 0) {
      give(of, -Math.min(has - window, of.lent));
    }
  }

  /** Counts what lies unread in a stream of what it was told that it might send. */
  private void count(Inbound of) {
    long beyond = flow.unconsumedBytes(of.stream) - config.session().window() - of.lent;
    if (beyond > 0) {
      full.add(of);
    } else if (of.beyond > 0) {
      full.remove(of);
    }
    of.beyond = beyond;
  }

  /** Credit of a stream was returned: a PING goes with it, if it is worth it. */
  void returned(Inbound of) {
    count(of);
    long most = most();
    if (pinged || since < every || (stream >= most && all >= most)) {
      return;
    }
    round++;
    pinged = true;
    pingedAt = config.now();
    since = 0;
    filled = 0;
    before = streams;
    streams = open;
    says.ping(PATH_PING | round);
  }

  // What it acknowledges.

  /** A PING was answered. */
  void answered(long data) {
    if (!pinged || data != (PATH_PING | round)) {
      return;
    }
    pinged = false;
    long took = config.now() - pingedAt;
    double reached = (double) since / Math.max(took, 1);
    if (took > MEASURES_WITHIN
        || reached < RISEN * rate
        || share.exceeded()
        || !enlarge(2 * filled, 3 * since >= 2 * all)) {
      every = Math.min(2 * every, MOST_MEASURED);
      return;
    }
    rate = reached;
    every = LEAST_MEASURED;
    tell();
  }

  /** SETTINGS were acknowledged. The library has applied them. */
  void acknowledged() {
    if (!asked) {
      return;
    }
    asked = false;
    if (withheld) {
      withheld = false;
      change(whole, all);
    }
    tell();
  }

  // What windows become.

  /**
   * Makes the windows of streams, and that of the connection, at least so large; {@code crowded}:
   * twice what came fits the latter better. True: one of them has grown.
   */
  private boolean enlarge(long window, boolean crowded) {
    long most = most();
    long ofAll = Math.min(crowded ? Math.max(window, 2 * since) : window, most);
    long each = Math.min(window, most);
    boolean grown = each > stream || ofAll > all;
    stream = Math.max(stream, each);
    resize(Math.max(all, ofAll));
    return grown;
  }

  private void resize(long window) {
    long more = window - all;
    all = window;
    if (!withheld) {
      change(whole, more);
    }
  }

  /**
   * Enlarges the window of a stream as far as the bound for all allows: by half of what is left.
   */
  private void lend(Inbound of, long window) {
    long more = Math.min(window - flow.initialWindowSize(of.stream), (most() - lent) / 2);
    if (more > 0) {
      give(of, more);
    }
  }

  private void give(Inbound of, long more) {
    of.lent += more;
    lent += more;
    change(of.stream, more);
  }

  /** Credit follows, at once or by and by. */
  private void change(Http2Stream of, long more) {
    if (more == 0) {
      return;
    }
    try {
      flow.incrementWindowSize(of, (int) more);
    } catch (Http2Exception impossible) { // it throws where the stream is none
      throw new IllegalStateException(impossible);
    }
  }

  /**
   * Says with which window streams begin: what was learned, or a part of it if there are many. It
   * does so if that is a quarter more than the peer was told, or half of what that was more than at
   * first.
   */
  private void tell() {
    if (asked) {
      return;
    }
    long least = config.session().window();
    long more = share.exceeded() ? 0 : Math.max(Math.min(part(), stream - least), 0);
    long window = least + more;
    boolean fewer = window < told && 2 * more <= told - least;
    if (4 * window < 5 * told && !fewer) {
      return;
    }
    if (fewer) { // who does not heed it runs out of credit
      withheld = true;
      change(whole, -all);
    }
    asked = true;
    told = window;
    says.begin((int) window);
  }

  /**
   * What each stream may begin with beyond the least, so that all together keep to the bound: what
   * lies unread cannot be taken back, however little is told now. So streams that have more than
   * their part leave the less for others.
   */
  private long part() {
    long left = most();
    int others = Math.max(Math.max(streams, before), 1);
    if (!full.isEmpty()) {
      long[] beyond = full.stream().mapToLong(one -> one.beyond).sorted().toArray();
      for (int at = beyond.length - 1; others > 1 && at >= 0; at--) {
        if (beyond[at] <= left / others) {
          break;
        }
        left = Math.max(left - beyond[at], 0);
        others--;
      }
    }
    return left / others;
  }
}
