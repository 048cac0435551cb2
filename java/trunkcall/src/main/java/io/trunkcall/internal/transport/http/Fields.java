package io.trunkcall.internal.transport.http;

import io.trunkcall.Code;
import io.trunkcall.Metadata;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Metadata as fields of HTTP, and which fields are none. */
final class Fields {
  static final String DELIVERY = "trunk-delivery";
  static final String DETAILS = "grpc-status-details-bin";
  private static final String BINARY = "-bin";

  private static final Set<String> OF_HTTP =
      Set.of(
          "content-type",
          "content-length",
          "accept-encoding",
          "host",
          "te",
          "trailer",
          "expect",
          "connection",
          "proxy-connection",
          "keep-alive",
          "transfer-encoding",
          "upgrade",
          "http2-settings");
  private static final Set<String> OF_GRPC =
      Set.of(
          "grpc-timeout",
          "grpc-encoding",
          "grpc-accept-encoding",
          "grpc-message-type",
          "grpc-status",
          "grpc-message",
          DETAILS);
  private static final Set<String> OF_WEB =
      Set.of("content-encoding", "accept", "x-grpc-web", "x-user-agent");

  private Fields() {}

  /** Takes the metadata out of a request. */
  static Metadata read(Request request, boolean grpc) throws Refusal {
    Metadata.Builder found = Metadata.builder();
    Set<String> hop = hop(request);
    for (Field field : request.fields()) {
      String key = field.name();
      if (OF_HTTP.contains(key) || OF_GRPC.contains(key) || hop.contains(key)) {
        continue;
      }
      if (!grpc && ofProtocol(key)) {
        continue;
      }
      if (key.endsWith(BINARY)) {
        for (String one : field.value().split(",", -1)) {
          byte[] value = decoded(one.trim());
          if (value == null) {
            throw new Refusal(Code.INVALID_ARGUMENT, "the value of \"" + key + "\" is not base64");
          }
          found.add(key, value);
        }
      } else {
        found.add(key, field.value());
      }
    }
    return found.build();
  }

  /** Fields that belong to the connection, as it says. */
  private static Set<String> hop(Request request) {
    Set<String> found = Set.of();
    for (String value : request.all("connection")) {
      found = found.isEmpty() ? new HashSet<>() : found;
      for (String one : value.split(",", -1)) {
        found.add(one.trim().toLowerCase(Locale.ROOT));
      }
    }
    return found;
  }

  /** Whether a field belongs to Connect or gRPC-Web, or to HTTP as these use it. */
  private static boolean ofProtocol(String key) {
    return OF_WEB.contains(key) || OF_GRPC.contains(key) || key.startsWith("connect-");
  }

  /** Whether a key of an answer's metadata would be taken for something else. */
  private static boolean reserved(String key) {
    return OF_HTTP.contains(key)
        || key.equals(DELIVERY)
        || (key.startsWith("grpc-") && !key.endsWith(BINARY))
        || key.equals(DETAILS);
  }

  /** Adds metadata of an answer as gRPC's fields. */
  static void addGrpc(List<Field> fields, Metadata metadata) {
    for (Metadata.Entry entry : metadata.entries()) {
      if (!reserved(entry.key())) {
        fields.add(new Field(entry.key(), value(entry)));
      }
    }
  }

  /** Adds metadata of an answer, with {@code prefix} before each name. */
  static void add(List<Field> fields, String prefix, Metadata metadata) {
    for (Metadata.Entry entry : metadata.entries()) {
      if (!reserved(entry.key()) && !ofProtocol(entry.key())) {
        fields.add(new Field(prefix + entry.key(), value(entry)));
      }
    }
  }

  private static String value(Metadata.Entry entry) {
    byte[] bytes = entry.bytes();
    if (bytes != null) {
      return encoded(bytes);
    }
    String text = entry.text();
    return text == null ? "" : stripped(text); // no field may begin or end with a space
  }

  private static String stripped(String text) {
    int from = 0;
    int to = text.length();
    while (from < to && text.charAt(from) == ' ') {
      from++;
    }
    while (to > from && text.charAt(to - 1) == ' ') {
      to--;
    }
    return text.substring(from, to);
  }

  static String encoded(byte[] bytes) {
    return Base64.getEncoder().withoutPadding().encodeToString(bytes);
  }

  private static byte @Nullable [] decoded(String text) {
    int end = text.length();
    while (end > 0 && text.charAt(end - 1) == '=') {
      end--;
    }
    try {
      return Base64.getDecoder().decode(text.substring(0, end));
    } catch (IllegalArgumentException malformed) {
      return null;
    }
  }

  /** What fields come to in a header list (RFC 9113 6.5.2). */
  static long size(List<Field> fields) {
    long size = 0;
    for (Field field : fields) {
      size += field.name().length() + field.value().length() + 32L;
    }
    return size;
  }

  /** A list that may be added to. */
  static List<Field> list(Field... first) {
    List<Field> made = new ArrayList<>(8);
    made.addAll(List.of(first));
    return made;
  }
}
