package io.trunkcall.grpc;

import io.trunkcall.Compression;
import org.jspecify.annotations.Nullable;

/** Compressors by the names that gRPC has for them. */
final class Compressors {
  private static final Compression[] NONE = {};

  private Compressors() {}

  /** What messages are compressed with; null for a name that is none here. */
  static Compression @Nullable [] named(String name) {
    return switch (name) {
      case "identity" -> NONE;
      case "gzip" -> new Compression[] {Compression.gzip()};
      case "zstd" -> zstd();
      default -> null;
    };
  }

  private static Compression @Nullable [] zstd() {
    try {
      return new Compression[] {Compression.zstd()};
    } catch (UnsupportedOperationException e) {
      return null;
    }
  }
}
