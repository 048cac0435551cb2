package io.trunkcall.grpc;

import io.grpc.Metadata;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Metadata between the two worlds. */
final class Entries {
  private static final String BINARY = Metadata.BINARY_HEADER_SUFFIX;

  // What gRPC says of its own in HTTP/2: natively it has its own places, if any.
  private static final Set<String> OF_HTTP =
      Set.of(
          "content-type",
          "te",
          "user-agent",
          "grpc-timeout",
          "grpc-encoding",
          "grpc-accept-encoding",
          "content-encoding",
          "accept-encoding",
          "grpc-status",
          "grpc-message");

  private Entries() {}

  static Metadata toGrpc(io.trunkcall.Metadata from) {
    Metadata to = new Metadata();
    for (io.trunkcall.Metadata.Entry entry : from.entries()) {
      byte[] bytes = entry.bytes();
      String text = entry.text();
      if (entry.key().equals(BINARY)) {
        continue; // legal natively, and no key of gRPC's
      }
      if (bytes != null && entry.key().endsWith(BINARY)) {
        to.put(binary(entry.key()), bytes);
      } else if (text != null && !entry.key().startsWith(":")) {
        to.put(Metadata.Key.of(entry.key(), Metadata.ASCII_STRING_MARSHALLER), text);
      }
    }
    return to;
  }

  static io.trunkcall.Metadata fromGrpc(Metadata from) {
    Set<String> keys = from.keys();
    if (keys.isEmpty()) {
      return io.trunkcall.Metadata.EMPTY;
    }
    io.trunkcall.Metadata.Builder to = io.trunkcall.Metadata.builder();
    for (String key : keys) {
      if (OF_HTTP.contains(key)) {
        continue;
      }
      if (key.endsWith(BINARY)) {
        each(from.getAll(binary(key)), bytes -> to.add(key, bytes));
      } else {
        each(
            from.getAll(Metadata.Key.of(key, Metadata.ASCII_STRING_MARSHALLER)),
            text -> to.add(key, text));
      }
    }
    return to.build();
  }

  static Metadata.Key<byte[]> binary(String key) {
    return Metadata.Key.of(key, Metadata.BINARY_BYTE_MARSHALLER);
  }

  private static <T> void each(@Nullable Iterable<T> values, java.util.function.Consumer<T> to) {
    if (values != null) {
      values.forEach(to);
    }
  }
}
