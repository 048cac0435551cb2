package io.trunkcall.internal.transport.http;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import io.trunkcall.Code;
import io.trunkcall.Delivery;
import io.trunkcall.Metadata;
import io.trunkcall.Status;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** How a call ended, as Connect tells it (http.md 5). */
final class ConnectErrors {
  private static final JsonFactory JSON = new JsonFactory();

  private ConnectErrors() {}

  /** The body of the answer to a unary call that failed. */
  static byte[] body(Status status) {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    try (JsonGenerator json = JSON.createGenerator(out)) {
      write(json, status);
    } catch (IOException impossible) {
      throw new UncheckedIOException(impossible);
    }
    return out.toByteArray();
  }

  /** The last message of a stream. */
  static byte[] streamEnd(Status status, Metadata trailers) {
    List<Field> fields = Fields.list();
    Fields.add(fields, "", trailers);
    addDelivery(fields, status);
    Map<String, List<String>> byName = new LinkedHashMap<>();
    for (Field field : fields) {
      byName.computeIfAbsent(field.name(), name -> new ArrayList<>(1)).add(field.value());
    }
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    try (JsonGenerator json = JSON.createGenerator(out)) {
      json.writeStartObject();
      if (!status.ok()) {
        json.writeFieldName("error");
        write(json, status);
      }
      if (!byName.isEmpty()) {
        json.writeObjectFieldStart("metadata");
        for (Map.Entry<String, List<String>> one : byName.entrySet()) {
          json.writeArrayFieldStart(one.getKey());
          for (String value : one.getValue()) {
            json.writeString(value);
          }
          json.writeEndArray();
        }
        json.writeEndObject();
      }
      json.writeEndObject();
    } catch (IOException impossible) {
      throw new UncheckedIOException(impossible);
    }
    return out.toByteArray();
  }

  private static void write(JsonGenerator json, Status status) throws IOException {
    json.writeStartObject();
    json.writeStringField("code", name(status.code()));
    if (!status.message().isEmpty()) {
      json.writeStringField("message", wellFormed(status.message()));
    }
    if (!status.details().isEmpty()) {
      json.writeArrayFieldStart("details");
      for (Status.Detail detail : status.details()) {
        String url = detail.typeUrl();
        json.writeStartObject();
        json.writeStringField("type", wellFormed(url.substring(url.lastIndexOf('/') + 1)));
        json.writeStringField("value", Fields.encoded(detail.value()));
        json.writeEndObject();
      }
      json.writeEndArray();
    }
    json.writeEndObject();
  }

  /** Without halves of surrogate pairs, which UTF-8 cannot have. */
  private static String wellFormed(String text) {
    for (int at = 0; at < text.length(); at++) {
      if (Character.isSurrogate(text.charAt(at))) {
        return new String(
            text.getBytes(java.nio.charset.StandardCharsets.UTF_8),
            java.nio.charset.StandardCharsets.UTF_8);
      }
    }
    return text;
  }

  private static String name(Code code) {
    return code == Code.CANCELLED ? "canceled" : code.name().toLowerCase(Locale.ROOT);
  }

  /** Tells of a failure whether its handler ran, and when it may be tried again. */
  static void addDelivery(List<Field> fields, Status status) {
    if (status.ok()) {
      return;
    }
    if (status.delivery() != Delivery.EXECUTED) {
      fields.add(new Field(Fields.DELIVERY, GrpcStatus.delivery(status)));
    }
    long after = GrpcStatus.retryAfterMillis(status);
    if (after > 0) {
      fields.add(new Field("retry-after", Long.toString((after + 999) / 1_000)));
    }
  }

  /** The status of HTTP that goes with a code. */
  static int httpStatus(Code code) {
    return switch (code) {
      case OK -> 200;
      case CANCELLED -> 499;
      case INVALID_ARGUMENT, FAILED_PRECONDITION, OUT_OF_RANGE -> 400;
      case DEADLINE_EXCEEDED -> 504;
      case NOT_FOUND -> 404;
      case ALREADY_EXISTS, ABORTED -> 409;
      case PERMISSION_DENIED -> 403;
      case RESOURCE_EXHAUSTED -> 429;
      case UNIMPLEMENTED -> 501;
      case UNAVAILABLE -> 503;
      case UNAUTHENTICATED -> 401;
      case UNKNOWN, INTERNAL, DATA_LOSS -> 500;
    };
  }
}
