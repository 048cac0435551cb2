package io.trunkcall.internal.transport.http;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http2.Http2ConnectionAdapter;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2FrameAdapter;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2Settings;
import io.netty.handler.codec.http2.Http2Stream;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Passes what frames say on to the connection. */
final class Http2Frames extends Http2FrameAdapter {
  private final Http2Line line;
  private final Http2Requests requests;

  Http2Frames(Http2Line line) {
    this.line = line;
    this.requests = line.requests();
  }

  /** Passes on that streams are closed. */
  static Http2ConnectionAdapter closing(Http2Requests requests) {
    return new Http2ConnectionAdapter() {
      @Override
      public void onStreamClosed(Http2Stream stream) {
        requests.closed(stream.id());
      }
    };
  }

  @Override
  public void onHeadersRead(
      ChannelHandlerContext context,
      int id,
      Http2Headers headers,
      int dependency,
      short weight,
      boolean exclusive,
      int padding,
      boolean end)
      throws Http2Exception {
    onHeadersRead(context, id, headers, padding, end);
  }

  @Override
  public void onHeadersRead(
      ChannelHandlerContext context, int id, Http2Headers headers, int padding, boolean end)
      throws Http2Exception {
    Http2Request before = requests.get(id);
    if (before != null) {
      if (!end) {
        throw malformed(id, "a second header does not end the request");
      }
      for (CharSequence name : headers.names()) {
        if (name.length() > 0 && name.charAt(0) == ':') {
          throw malformed(id, "trailers have the pseudo-header field " + name);
        }
      }
      requests.ended(before);
      return;
    }
    Http2Stream stream = line.connection().stream(id);
    if (stream == null) {
      return; // of a request that was answered and forgotten
    }
    List<Field> fields = new ArrayList<>(headers.size());
    for (Map.Entry<CharSequence, CharSequence> one : headers) {
      String name = one.getKey().toString();
      if (!name.startsWith(":")) {
        fields.add(new Field(name, one.getValue().toString()));
      }
    }
    String method = text(headers.method());
    String path = text(headers.path());
    if (method.isEmpty() || path.isEmpty() || text(headers.scheme()).isEmpty()) {
      throw malformed(id, "a request without :method, :scheme or :path");
    }
    String authority = text(headers.authority());
    Request bare = new Request(method, path, "", authority, fields, -1);
    long length = length(id, bare.all("content-length"));
    if (end && length > 0) {
      throw malformed(id, "content-length is " + length + ", and there is no body");
    }
    Request request =
        Request.of(
            method,
            path,
            authority.isEmpty() ? bare.first("host") : authority,
            fields,
            end ? 0 : length);
    requests.begin(stream, request, end, tooLarge(headers));
  }

  private String tooLarge(Http2Headers headers) {
    long size = 0;
    for (Map.Entry<CharSequence, CharSequence> one : headers) {
      size += one.getKey().length() + one.getValue().length() + 32L;
    }
    if (size > line.config().headerBytes()) {
      return "header list of "
          + size
          + " bytes, SETTINGS_MAX_HEADER_LIST_SIZE is "
          + line.config().headerBytes();
    }
    if (headers.size() > line.config().fields()) {
      return "header list of more than " + line.config().fields() + " fields";
    }
    return "";
  }

  private static long length(int id, List<String> said) throws Http2Exception {
    long length = -1;
    for (String one : said) {
      long value;
      try {
        value = Long.parseUnsignedLong(one);
      } catch (NumberFormatException no) {
        throw malformed(id, "content-length is no number");
      }
      if (value < 0 || (length >= 0 && value != length)) {
        throw malformed(id, "lengths that conflict");
      }
      length = value;
    }
    return length;
  }

  private static String text(@Nullable CharSequence text) {
    return text == null ? "" : text.toString();
  }

  private static Http2Exception malformed(int id, String text) {
    return Http2Exception.streamError(id, Http2Error.PROTOCOL_ERROR, "%s", text);
  }

  @Override
  public int onDataRead(
      ChannelHandlerContext context, int id, ByteBuf data, int padding, boolean end) {
    Http2Request one = requests.get(id);
    if (one == null) {
      return data.readableBytes() + padding;
    }
    int consumed = requests.data(one, data, padding);
    if (end) {
      requests.ended(one);
    }
    return consumed;
  }

  @Override
  public void onRstStreamRead(ChannelHandlerContext context, int id, long code)
      throws Http2Exception {
    Http2Request one = requests.get(id);
    if (one != null) {
      requests.wasReset(one);
    }
  }

  @Override
  public void onSettingsRead(ChannelHandlerContext context, Http2Settings settings) {
    line.settings(settings);
  }

  @Override
  public void onSettingsAckRead(ChannelHandlerContext context) {
    line.windows().acknowledged();
  }

  @Override
  public void onPingAckRead(ChannelHandlerContext context, long data) {
    line.parting().answered(data);
    line.windows().answered(data);
  }
}
