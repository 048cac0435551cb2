package io.trunkcall.internal.transport.http;

import io.trunkcall.Code;
import io.trunkcall.Metadata;
import io.trunkcall.Status;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The Connect protocol (http.md 5): a unary call is a plain request of HTTP, any other has its
 * messages behind prefixes and says at the end of the body how it ended.
 */
final class Connect implements Dialect {
  static final Connect UNARY = new Connect(true);
  static final Connect STREAM = new Connect(false);

  private static final String TYPE = "application/";
  private static final String STREAM_TYPE = "application/connect+";
  private static final String TIMEOUT = "connect-timeout-ms";
  private static final int END = 2;

  /** No codecs: what browsers send without asking, and what clients use by default. */
  private static final Set<String> FORMS = Set.of("x-www-form-urlencoded", "octet-stream", "xml");

  private final boolean unary;

  private Connect(boolean unary) {
    this.unary = unary;
  }

  @Override
  public String protocol() {
    return "connect";
  }

  @Override
  public @Nullable String codec(String type) {
    String before = unary ? TYPE : STREAM_TYPE;
    if (!type.startsWith(before) || type.length() == before.length()) {
      return null;
    }
    String codec = type.substring(before.length());
    boolean other = FORMS.contains(codec) || codec.indexOf('+') >= 0 || codec.startsWith("grpc");
    return unary && other ? null : codec;
  }

  @Override
  public String contentType(String codec) {
    return (unary ? TYPE : STREAM_TYPE) + codec;
  }

  @Override
  public boolean takes(HttpMethod method) {
    return method.streams() != unary;
  }

  @Override
  public boolean plain() {
    return unary;
  }

  @Override
  public boolean byStatus() {
    return true;
  }

  @Override
  public Said read(Request request, @Nullable Map<String, byte[]> query) throws Refusal {
    String version = request.first("connect-protocol-version");
    if (!version.isEmpty() && !version.equals("1")) {
      throw new Refusal(
          Code.INVALID_ARGUMENT, "connect-protocol-version is \"" + version + "\", here 1");
    }
    String timeout = request.first(TIMEOUT);
    long micros = timeout.isEmpty() ? 0 : Encodings.connectTimeout(timeout);
    String encoding;
    if (query != null) {
      byte[] given = query.get("compression");
      encoding = given == null ? "" : new String(given, StandardCharsets.UTF_8);
    } else {
      encoding = request.first(unary ? "content-encoding" : "connect-content-encoding");
    }
    String accepts = request.joined(unary ? "accept-encoding" : "connect-accept-encoding");
    return new Said(encoding, Encodings.accepted(accepts), TIMEOUT, timeout, micros);
  }

  @Override
  public void head(List<Field> fields, String accepted, int packed) {
    if (unary) {
      return;
    }
    fields.add(new Field("connect-accept-encoding", accepted));
    if (packed != 0) {
      fields.add(new Field("connect-content-encoding", Encodings.name(packed)));
    }
  }

  @Override
  public byte @Nullable [] end(Status status, Metadata trailers) {
    return ConnectErrors.streamEnd(status, trailers);
  }

  @Override
  public int endFlags() {
    return END;
  }
}
