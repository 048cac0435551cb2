package io.trunkcall.internal.transport.http;

import io.trunkcall.Metadata;
import io.trunkcall.Status;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** gRPC over HTTP/2 (http.md 3), and gRPC-Web, whose trailers are in the body (http.md 6). */
final class Grpc implements Dialect {
  static final Grpc HTTP2 = new Grpc("grpc", "application/grpc", false, false);
  static final Grpc WEB = new Grpc("grpc-web", "application/grpc-web", true, false);
  static final Grpc WEB_TEXT = new Grpc("grpc-web", "application/grpc-web-text", true, true);

  private static final int TRAILERS = 0x80;

  private final String protocol;
  private final String type;
  private final boolean web;
  private final boolean base64;

  private Grpc(String protocol, String type, boolean web, boolean base64) {
    this.protocol = protocol;
    this.type = type;
    this.web = web;
    this.base64 = base64;
  }

  @Override
  public String protocol() {
    return protocol;
  }

  @Override
  public @Nullable String codec(String given) {
    if (!given.startsWith(type)) {
      return null;
    }
    String rest = given.substring(type.length());
    if (rest.isEmpty()) {
      return "proto";
    }
    return rest.length() > 1 && rest.charAt(0) == '+'
        ? rest.substring(1).toLowerCase(Locale.ROOT)
        : null;
  }

  @Override
  public String contentType(String codec) {
    return type + "+" + codec;
  }

  /** That of answers to a request of {@code type}: those without a codec get none. */
  static String answerType(String type, String codec) {
    return type.equals(HTTP2.type) ? HTTP2.type : HTTP2.contentType(codec);
  }

  @Override
  public boolean base64() {
    return base64;
  }

  @Override
  public Said read(Request request, @Nullable Map<String, byte[]> query) {
    String timeout = request.first("grpc-timeout");
    long micros = timeout.isEmpty() ? 0 : Encodings.grpcTimeout(timeout);
    String encoding = request.first("grpc-encoding");
    int accepts = Encodings.accepted(request.joined("grpc-accept-encoding"));
    if (!web) {
      accepts |= 1 << Encodings.number(encoding);
    }
    return new Said(encoding, accepts, "grpc-timeout", timeout, micros);
  }

  @Override
  public void head(List<Field> fields, String accepted, int packed) {
    if (web || packed != 0) {
      fields.add(new Field("grpc-accept-encoding", accepted));
    }
    if (packed != 0) {
      fields.add(new Field("grpc-encoding", Encodings.name(packed)));
    }
  }

  @Override
  public void metadata(List<Field> fields, Metadata metadata) {
    if (web) {
      Fields.add(fields, "", metadata);
    } else {
      Fields.addGrpc(fields, metadata);
    }
  }

  @Override
  public byte @Nullable [] end(Status status, Metadata trailers) {
    if (!web) {
      return null;
    }
    StringBuilder text = new StringBuilder();
    for (Field field : GrpcStatus.fields(status, trailers)) {
      text.append(field.name()).append(": ").append(field.value()).append("\r\n");
    }
    return text.toString().getBytes(StandardCharsets.ISO_8859_1);
  }

  @Override
  public int endFlags() {
    return TRAILERS;
  }
}
