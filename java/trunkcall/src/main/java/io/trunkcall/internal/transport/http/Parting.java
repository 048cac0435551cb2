package io.trunkcall.internal.transport.http;

import io.netty.handler.codec.http2.Http2Error;

/**
 * How a connection of HTTP/2 ends in order, and by silence: it is drained in two steps, GOAWAY with
 * the highest stream id and a PING, and at its answer GOAWAY with the last stream that is served
 * (http.md 2).
 */
final class Parting {
  private static final long IDLE = 15 * 60_000_000L; // µs without a request (limits.md 5)
  private static final long ANSWER = 10_000_000; // µs for the answer to the first step
  private static final long DRAIN_PING = 0x7472756EL; // which PING it is
  private static final long KEEPALIVE_PING = 0x6B656570;

  private final Http2Line line;
  private String why = "";
  private long drainingSince; // 0: it does not drain
  private boolean lastTold; // the second step was made
  private boolean closing;
  private long askedAt; // when the peer was asked for a sign of life; 0: it was not

  Parting(Http2Line line) {
    this.line = line;
  }

  String why() {
    return why;
  }

  void because(String text) {
    if (why.isEmpty()) {
      why = text;
    }
  }

  /** The peer has sent something. */
  void heard() {
    askedAt = 0;
  }

  void drain() {
    if (line.lost() || drainingSince != 0) {
      return;
    }
    because("this side drains");
    drainingSince = line.config().now();
    if (line.lastStream() == 0) {
      last();
      return;
    }
    line.goAway(Integer.MAX_VALUE, Http2Error.NO_ERROR, "the server drains");
    line.ping(DRAIN_PING);
  }

  /** A PING was answered. */
  void answered(long data) {
    if (data == DRAIN_PING && drainingSince != 0) {
      last();
    }
  }

  private void last() {
    if (!lastTold) {
      lastTold = true;
      line.goAway(line.lastStream(), Http2Error.NO_ERROR, "the server drains");
    }
  }

  /** Closes if all is done. */
  void look() {
    if (lastTold && !closing && line.requests().count() == 0) {
      closing = true;
      line.closeBehind();
    }
  }

  void graceOver() {
    if (line.lost()) {
      return;
    }
    because("the grace period is over");
    line.requests().cutOff("the server has been stopped");
    last();
    closing = true;
    line.closeBehind();
  }

  void tick(long now, long readAt) {
    long idleSince = line.requests().idleSince();
    if (drainingSince != 0 && now - drainingSince > ANSWER) {
      last();
    }
    if (idleSince != 0 && now - idleSince > IDLE && drainingSince == 0) {
      because("no request in 15 min");
      drainingSince = now;
      last();
    }
    keepalive(now, readAt);
    look();
  }

  private void keepalive(long now, long readAt) {
    long interval = line.config().session().keepalive();
    if (interval == 0) {
      return;
    }
    if (askedAt != 0) {
      if (now - askedAt > line.config().session().keepaliveAnswer()) {
        line.abort("the peer was silent for longer than the keepalive allows");
      }
    } else if (now - readAt > interval) {
      askedAt = now;
      line.ping(KEEPALIVE_PING);
    }
  }
}
