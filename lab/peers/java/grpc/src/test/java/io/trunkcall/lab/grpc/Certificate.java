package io.trunkcall.lab.grpc;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.Base64;
import java.util.concurrent.TimeUnit;

/** A certificate for 127.0.0.1 that trusts itself, and its key, as files. */
record Certificate(Path certificate, Path key) {
  /** Has the JDK's keytool make them. */
  static Certificate in(Path directory)
      throws IOException, InterruptedException, GeneralSecurityException {
    Path store = directory.resolve("store.p12");
    String password = "not a secret";
    Process keytool =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
                "-genkeypair",
                "-alias",
                "it",
                "-keyalg",
                "EC",
                "-groupname",
                "secp256r1",
                "-dname",
                "CN=test",
                "-ext",
                "san=ip:127.0.0.1",
                "-storetype",
                "PKCS12",
                "-keystore",
                store.toString(),
                "-storepass",
                password)
            .inheritIO()
            .start();
    if (!keytool.waitFor(60, TimeUnit.SECONDS) || keytool.exitValue() != 0) {
      throw new IOException("keytool makes no certificate");
    }
    KeyStore keys = KeyStore.getInstance("PKCS12");
    try (InputStream in = Files.newInputStream(store)) {
      keys.load(in, password.toCharArray());
    }
    return new Certificate(
        written(directory, "CERTIFICATE", keys.getCertificate("it").getEncoded()),
        written(directory, "PRIVATE KEY", keys.getKey("it", password.toCharArray()).getEncoded()));
  }

  private static Path written(Path directory, String kind, byte[] data) throws IOException {
    String text =
        String.format(
            "-----BEGIN %s-----%n%s%n-----END %s-----%n",
            kind, Base64.getMimeEncoder().encodeToString(data), kind);
    return Files.writeString(directory.resolve(kind + ".pem"), text);
  }
}
