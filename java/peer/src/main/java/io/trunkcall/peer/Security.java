package io.trunkcall.peer;

import io.trunkcall.Tls;
import io.trunkcall.load.Flags;
import io.trunkcall.load.UsageError;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** TLS as the flags ask for it. */
final class Security {
  private final Flags.Value<String> cert;
  private final Flags.Value<String> key;
  private final Flags.Value<String> authorities;
  private final Flags.@Nullable Value<Boolean> cleartext; // null: this is a client

  private Security(Flags flags, String authorities, String help, boolean server) {
    cert = flags.text("--tls-cert", "FILE", "", "certificate, PEM");
    key = flags.text("--tls-key", "FILE", "", "key for --tls-cert, PEM");
    this.authorities = flags.text(authorities, "FILE", "", help);
    cleartext =
        server
            ? flags.toggle(
                "--allow-cleartext", "take connections without TLS too, beside --tls-cert")
            : null;
  }

  /** Adds the flags of a client. */
  static Security ofClient(Flags flags) {
    return new Security(
        flags, "--tls-ca", "connect with TLS and trust the certificates in this file", false);
  }

  /** Adds the flags of a server. */
  static Security ofServer(Flags flags) {
    return new Security(
        flags,
        "--tls-client-ca",
        "want a certificate of clients that one in this file has signed",
        true);
  }

  /** Whether a server takes connections without TLS too. */
  boolean allowCleartext() {
    return cleartext != null && cleartext.get();
  }

  /** What the flags ask for; null is cleartext. */
  @Nullable Tls tls() throws UsageError {
    boolean own = cert.given() || key.given();
    if (own && !(cert.given() && key.given())) {
      throw new UsageError("--tls-cert and --tls-key go together");
    }
    boolean server = cleartext != null;
    if (server && !own && (authorities.given() || allowCleartext())) {
      throw new UsageError(
          "--tls-client-ca and --allow-cleartext go with --tls-cert and --tls-key");
    }
    if (!server && own && !authorities.given()) {
      throw new UsageError("--tls-cert needs --tls-ca, to know the server by");
    }
    Path trusted = authorities.given() ? pem("--tls-ca", authorities.get()) : null;
    if (!own) {
      return trusted == null ? null : Tls.trusting(trusted);
    }
    Path certificate = pem("--tls-cert", cert.get());
    Path secret = pem("--tls-key", key.get());
    return trusted == null ? Tls.of(certificate, secret) : Tls.mutual(trusted, certificate, secret);
  }

  /** A file that can be read and has something of PEM in it. */
  private static Path pem(String flag, String file) throws UsageError {
    String text;
    Path path;
    try {
      path = Path.of(file);
      text = Files.readString(path, StandardCharsets.ISO_8859_1);
    } catch (IOException | InvalidPathException e) {
      throw new UsageError(flag + " " + file + ": cannot be read: " + e);
    }
    if (!text.contains("-----BEGIN ")) {
      throw new UsageError(flag + " " + file + ": there is no PEM in it");
    }
    if (text.contains("ENCRYPTED")) {
      throw new UsageError(flag + " " + file + ": the key is encrypted");
    }
    return path;
  }
}
