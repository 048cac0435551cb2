package io.trunkcall.internal.transport.http;

import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2Stream;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The requests of a connection of HTTP/2: the open ones, and those whose handlers run on. */
final class Http2Requests {
  private final Http2Line line;
  private final Streams streams;
  private final Allowance allowance;
  private final Router router;
  private final Map<Integer, Http2Request> open = new HashMap<>();
  private final Behind behind;
  private long holdings; // counts the requests that began to hold something
  private int counted; // with handlers that outlive their streams
  private long idleSince; // 0: it is not idle

  Http2Requests(Http2Line line, Streams streams, Allowance allowance) {
    this.line = line;
    this.streams = streams;
    this.allowance = allowance;
    this.router = new Router(line.config());
    this.behind = new Behind(line.config());
    this.idleSince = line.config().now();
  }

  /** How many there are, with those whose handlers outlive their streams. */
  int count() {
    return counted;
  }

  /** Since when there was none; 0: there is one. */
  long idleSince() {
    return idleSince;
  }

  List<Http2Request> all() {
    return new ArrayList<>(open.values());
  }

  @Nullable Http2Request get(int id) {
    return open.get(id);
  }

  /** The head of a request has come. */
  void begin(Http2Stream stream, Request request, boolean ended, String tooLarge)
      throws Http2Exception {
    idleSince = 0;
    if (counted >= line.config().settings().maxCalls()) {
      allowance.spend(1, "refused requests");
      streams.reset(stream.id());
      line.reset(stream.id(), Http2Error.REFUSED_STREAM);
      return;
    }
    Http2Request made = new Http2Request(line, stream, request);
    open.put(made.id, made);
    counted++;
    made.requestEnded = ended;
    if (!tooLarge.isEmpty()) {
      allowance.spend(1 + (int) (Fields.size(request.fields()) >> 10), "refused requests");
      made.receiver = router.tooLarge(request, made, tooLarge);
    } else if (ended || request.method().equals("POST")) {
      serve(made);
    }
  }

  /** Those other than POST are served when they are whole: a malformed one gets no answer. */
  private void serve(Http2Request one) {
    HttpStream.Receiver receiver = router.serve(one.request, one);
    one.receiver = receiver;
    if (one.requestEnded) {
      receiver.ended();
    }
  }

  /** Bytes of a body. Those of them that are returned cost no credit any more. */
  int data(Http2Request one, ByteBuf data, int padding) {
    int credit = data.readableBytes() + padding;
    line.windows().arrived(one.inbound, credit);
    if (one.answered) {
      return 0; // no new credit: it is to end
    }
    if (one.receiver == null) {
      return credit;
    }
    if (data.isReadable()) {
      one.earned = Math.min(one.earned + Allowance.FOR_DATA, Allowance.MOST_FORFEIT);
    }
    one.receiver.data(data.retain(), credit);
    return 0;
  }

  void ended(Http2Request one) {
    one.requestEnded = true;
    behind.remove(one);
    if (one.receiver == null) {
      serve(one);
    } else {
      one.receiver.ended();
    }
  }

  void answered(Http2Request one) {
    if (!one.requestEnded) {
      behind.add(one);
    }
  }

  /** The peer has reset a request. */
  void wasReset(Http2Request one) throws Http2Exception {
    if (!one.answered) {
      allowance.spend(one.earned, "requests that were reset");
    }
  }

  /** A stream is closed. */
  void closed(int id) {
    Http2Request one = open.get(id);
    if (one != null && !one.gone) {
      lose(one, "the caller has gone");
    }
  }

  /** The connection is gone. */
  void loseAll() {
    all().forEach(one -> lose(one, "the connection is gone"));
  }

  private void lose(Http2Request one, String why) {
    one.gone = true;
    if (one.answered && one.requestEnded && !one.wasReset) {
      streams.ended(one.id);
    } else {
      streams.reset(one.id);
    }
    behind.remove(one);
    open.remove(one.id);
    line.windows().closed(one.inbound);
    if (one.receiver != null && !one.answered) {
      one.receiver.lost(why);
    }
    leave(one);
  }

  /** Lets go of a request that is over and whose handler has returned. */
  void leave(Http2Request one) {
    if (one.gone && !one.running && !one.shut) {
      one.shut = true;
      counted--;
      if (counted == 0) {
        idleSince = line.config().now();
      }
    }
  }

  // Memory.

  /** Counts the requests that begin to hold something. */
  long nextHolding() {
    return ++holdings;
  }

  /** The request that has held something for longest; null: none does. */
  @Nullable Http2Request longestHeld() {
    Http2Request longest = null;
    for (Http2Request one : open.values()) {
      if (one.holds() > 0 && (longest == null || one.order < longest.order)) {
        longest = one;
      }
    }
    return longest;
  }

  // Time.

  /** Ends what takes too long. */
  void tick(long now) {
    all().forEach(one -> one.tick(now));
    behind.tick(now);
  }

  /** The end of the grace has come. */
  void cutOff(String why) {
    for (Http2Request one : all()) {
      if (one.receiver != null) {
        one.receiver.cutOff(why);
      }
    }
  }
}
