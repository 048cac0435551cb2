package io.trunkcall.internal.transport.http;

import io.netty.handler.codec.DecoderResult;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.TooLongHttpHeaderException;
import io.netty.handler.codec.http.TooLongHttpLineException;
import java.util.List;

/** What is wrong with the heads of requests of HTTP/1.1 (http.md 4). */
final class Heads {
  private Heads() {}

  static long length(HttpRequest said) {
    try {
      return HttpUtil.getContentLength(said, 0L);
    } catch (NumberFormatException malformed) {
      return 0;
    }
  }

  static String text(HttpRequest said, CharSequence name) {
    String value = said.headers().get(name);
    return value == null ? "" : value;
  }

  /** The status of HTTP for what is not served; 0: it is. */
  static int checked(HttpRequest said, Request request, boolean old) {
    if (said.method().name().equals("PRI")
        || !(old || said.protocolVersion().equals(HttpVersion.HTTP_1_1))) {
      return 505;
    }
    List<String> codings = request.all("transfer-encoding");
    if (!codings.isEmpty()) {
      if (old) {
        return 400;
      }
      if (codings.size() > 1 || !codings.get(0).trim().equalsIgnoreCase("chunked")) {
        return 501;
      }
    }
    return !old && request.all("host").size() != 1 ? 400 : 0;
  }

  static String wrong(int status) {
    return switch (status) {
      case 505 -> "this version of HTTP is not served";
      case 501 -> "no transfer coding is served but chunked";
      default -> "the request is malformed";
    };
  }

  static int status(DecoderResult result) {
    Throwable cause = result.cause();
    boolean long_ =
        cause instanceof TooLongHttpHeaderException || cause instanceof TooLongHttpLineException;
    return long_ ? 431 : 400;
  }

  static String malformed(DecoderResult result, int most) {
    return status(result) == 431
        ? "the header is longer than " + most + " bytes"
        : "the request is malformed";
  }
}
