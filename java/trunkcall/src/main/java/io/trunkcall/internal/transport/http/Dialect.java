package io.trunkcall.internal.transport.http;

import io.trunkcall.Metadata;
import io.trunkcall.Status;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * One form in which calls come as requests of HTTP: what a protocol's fields say, and what its
 * messages and ends look like.
 */
interface Dialect {
  /** What the fields of a request say. */
  record Said(String encoding, int accepts, String timeoutField, String timeout, long micros) {}

  /** The protocol's name, for logs and admission. */
  String protocol();

  /** The codec's name out of a content type without parameters; null: it is another dialect's. */
  @Nullable String codec(String type);

  /** The content type of answers. */
  String contentType(String codec);

  /** Whether a method can be called so. */
  default boolean takes(HttpMethod method) {
    return true;
  }

  /** Whether a body is one message without a prefix, and the status of HTTP says how calls end. */
  default boolean plain() {
    return false;
  }

  /** Whether clients go by the status of HTTP where a request is no call. */
  default boolean byStatus() {
    return false;
  }

  /** Whether bodies are base64. */
  default boolean base64() {
    return false;
  }

  /** Takes what the fields of a request say; {@code query} is that of a call by GET. */
  Said read(Request request, @Nullable Map<String, byte[]> query) throws Refusal;

  /** Adds the protocol's own fields to the head of an answer that is not plain. */
  default void head(List<Field> fields, String accepted, int packed) {}

  /** Adds metadata to the head of an answer. */
  default void metadata(List<Field> fields, Metadata metadata) {
    Fields.add(fields, "", metadata);
  }

  /** What the body of an answer ends with, behind five bytes; null: trailers tell it. */
  byte @Nullable [] end(Status status, Metadata trailers);

  /** The flags of that message. */
  default int endFlags() {
    return 0;
  }
}
