package io.trunkcall.internal.transport;

import io.netty.channel.Channel;
import java.util.List;

/** A protocol beside the native one that a listener recognises and serves (http.md 1). */
public interface Protocol {
  /** What a beginning tells. */
  enum Guess {
    YES,
    NO,
    /** More of it is to be seen. */
    MORE
  }

  /** The names by which TLS negotiates it. */
  List<String> alpn();

  /**
   * Whether a connection is served as soon as TLS has negotiated the protocol, before its client
   * has sent anything.
   */
  default boolean speaksFirst() {
    return false;
  }

  /** Whether a connection that begins so speaks it: the first bytes, at least 1, at most 64. */
  Guess recognize(byte[] first);

  /**
   * Takes a connection over, on its loop: adds its handlers at the end of the pipeline. What was
   * read comes to them next. {@code since}: when it was accepted, by {@link Clock}.
   */
  void serve(Channel channel, long since, Listener listener);

  /**
   * Takes over, likewise, a connection in the clear that is not served, to tell the peer {@code
   * why}. False: the protocol has no way of its own.
   */
  default boolean decline(Channel channel, String why) {
    return false;
  }
}
