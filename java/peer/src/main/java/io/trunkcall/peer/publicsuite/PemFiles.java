package io.trunkcall.peer.publicsuite;

import com.google.protobuf.ByteString;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Certificates and keys as files, since TLS is set up by files, which are looked at now and then:
 * they are there as long as the process.
 */
final class PemFiles {
  private final Path folder;

  PemFiles() throws IOException {
    folder = Files.createTempDirectory("public-suite");
    folder.toFile().deleteOnExit();
  }

  Path write(String name, ByteString text) throws IOException {
    Path path = Files.write(folder.resolve(name), text.toByteArray());
    path.toFile().deleteOnExit();
    return path;
  }
}
