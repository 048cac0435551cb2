package io.trunkcall.internal.transport.http;

import io.netty.buffer.Unpooled;
import java.util.List;

/** Pages of other origins (http.md 7). */
final class Origins {
  private Origins() {}

  /**
   * Answers what a browser asks before a page's call, and otherwise adds to the answer that the
   * page may read it. True: the request is answered.
   */
  static boolean crossed(Request request, HttpStream stream, List<String> allowed) {
    String origin = request.first("origin");
    if (origin.isEmpty()) {
      return false;
    }
    boolean preflight =
        request.method().equals("OPTIONS")
            && !request.first("access-control-request-method").isEmpty();
    stream.add(new Field("vary", "Origin"));
    if (!listed(origin, allowed)) {
      if (preflight) {
        Answering.whole(stream, 403, Fields.list(), Unpooled.EMPTY_BUFFER);
      }
      return preflight;
    }
    stream.add(new Field("access-control-allow-origin", origin));
    if (!preflight) {
      stream.add(new Field("access-control-expose-headers", "*"));
      return false;
    }
    List<Field> fields = Fields.list();
    fields.add(new Field("access-control-allow-methods", "GET, POST"));
    String wanted = request.joined("access-control-request-headers");
    if (!wanted.isEmpty()) {
      fields.add(new Field("access-control-allow-headers", wanted));
    }
    fields.add(new Field("access-control-max-age", "7200"));
    stream.head(204, fields, true);
    return true;
  }

  private static boolean listed(String origin, List<String> allowed) {
    return allowed.stream().anyMatch(one -> one.equals("*") || one.equalsIgnoreCase(origin));
  }
}
