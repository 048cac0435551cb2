package io.trunkcall.internal.transport.http;

import io.netty.handler.codec.http2.Http2Error;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Requests that go on behind their answers: they are reset with NO_ERROR, though not at once, since
 * there are clients that take that for a failure (http.md 2).
 */
final class Behind {
  private static final int MOST = 16; // on a connection (limits.md 5)
  private static final long TIME = 1_000_000; // µs that one may

  private final HttpConfig config;
  private final Map<Http2Request, Long> since = new LinkedHashMap<>();

  Behind(HttpConfig config) {
    this.config = config;
  }

  void add(Http2Request one) {
    since.put(one, config.now());
    if (since.size() > MOST) {
      end(since.keySet().iterator().next());
    }
  }

  void remove(Http2Request one) {
    since.remove(one);
  }

  private void end(Http2Request one) {
    since.remove(one);
    one.reset(Http2Error.NO_ERROR);
  }

  void tick(long now) {
    for (Map.Entry<Http2Request, Long> one : new ArrayList<>(since.entrySet())) {
      if (now - one.getValue() > TIME) {
        end(one.getKey());
      }
    }
  }
}
