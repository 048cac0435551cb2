package io.trunkcall.spring;

import io.trunkcall.Compression;
import java.util.List;

/** What messages are compressed by, where the other side accepts it and it pays. */
public enum CompressedBy {
  /** gzip. */
  GZIP,
  /** Zstandard, which needs its library (zstd-jni). */
  ZSTD;

  static Compression[] inOrder(List<CompressedBy> given) {
    return given.stream()
        .map(each -> each == GZIP ? Compression.gzip() : Compression.zstd())
        .toArray(Compression[]::new);
  }
}
