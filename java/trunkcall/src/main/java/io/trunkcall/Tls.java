package io.trunkcall;

import io.trunkcall.internal.transport.TlsFiles;
import io.trunkcall.internal.transport.TlsSource;
import java.io.IOException;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.util.Objects;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;

/**
 * What a client or a server needs for TLS: files (PEM), which are read again when they change, or a
 * context of the JDK's. Version 1.2 or later; the ALPN is set by the client or server.
 */
public final class Tls {
  private final @Nullable TlsFiles files;
  private final @Nullable SSLContext context;
  private final boolean clientCertificates;

  private Tls(@Nullable TlsFiles files, @Nullable SSLContext context, boolean clientCertificates) {
    this.files = files;
    this.context = context;
    this.clientCertificates = clientCertificates;
  }

  /** For clients: the authorities that the JDK trusts. */
  public static Tls usual() {
    return new Tls(new TlsFiles(null, null, null), null, false);
  }

  /** For clients: the authorities to trust. */
  public static Tls trusting(Path authorities) {
    return new Tls(new TlsFiles(Objects.requireNonNull(authorities), null, null), null, false);
  }

  /** For servers: a certificate with its chain, and its key. */
  public static Tls of(Path certificate, Path key) {
    return new Tls(new TlsFiles(null, certificate, key), null, false);
  }

  /**
   * For both: a certificate and its key, and authorities. A server asks every client for a
   * certificate of these.
   */
  public static Tls mutual(Path authorities, Path certificate, Path key) {
    return new Tls(new TlsFiles(authorities, certificate, key), null, false);
  }

  /** A context of one's own. */
  public static Tls of(SSLContext context) {
    return new Tls(null, Objects.requireNonNull(context), false);
  }

  /** The same; a server asks every client for a certificate that the context trusts. */
  public Tls withClientCertificates() {
    return new Tls(files, context, true);
  }

  /** Throws IllegalArgumentException for what cannot be used. */
  TlsSource forClients() {
    try {
      return context != null
          ? TlsSource.forClients(context)
          : TlsSource.forClients(Objects.requireNonNull(files));
    } catch (IOException | GeneralSecurityException e) {
      throw new IllegalArgumentException("option tls: " + e.getMessage(), e);
    }
  }

  /** Throws IllegalArgumentException for what cannot be used. */
  TlsSource forServers() {
    try {
      return context != null
          ? TlsSource.forServers(context, clientCertificates)
          : TlsSource.forServers(Objects.requireNonNull(files));
    } catch (IOException | GeneralSecurityException e) {
      throw new IllegalArgumentException("option tls: " + e.getMessage(), e);
    }
  }
}
