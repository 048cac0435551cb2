package io.trunkcall.internal.transport;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Certificates and authorities in files (PEM), which are read again when they change.
 *
 * @param ca the authorities to trust: for a client by default those of the JDK; a server that has
 *     one asks every client for a certificate of it
 * @param cert this side's own certificate, with its chain: a server always has one
 * @param key its key; null: it stands in the file of the certificate
 */
public record TlsFiles(@Nullable Path ca, @Nullable Path cert, @Nullable Path key) {
  /** Throws IllegalArgumentException for a key without a certificate. */
  public TlsFiles {
    if (key != null && cert == null) {
      throw new IllegalArgumentException("TLS files: there is a key and no certificate");
    }
  }

  /** What changes when one of the files does. */
  List<Object> seen() throws IOException {
    List<Object> found = new ArrayList<>();
    for (@Nullable Path path : Arrays.asList(ca, cert, key)) {
      if (path != null) {
        BasicFileAttributes of = Files.readAttributes(path, BasicFileAttributes.class);
        found.add(of.lastModifiedTime());
        found.add(of.size());
        found.add(String.valueOf(of.fileKey()));
      }
    }
    return found;
  }
}
