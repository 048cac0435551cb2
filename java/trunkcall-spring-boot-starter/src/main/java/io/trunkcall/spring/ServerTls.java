package io.trunkcall.spring;

import io.trunkcall.Tls;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.ssl.SslBundles;

/**
 * TLS of a server: files, which are read again when they change, or a bundle of Spring's.
 *
 * @param bundle A bundle of spring.ssl.bundle, in place of files.
 * @param certificate A file (PEM) with the certificate and its chain.
 * @param privateKey A file (PEM) with the key.
 * @param authorities A file (PEM) with authorities, of which each client has to have a certificate.
 * @param clientCertificates Whether each client has to have a certificate that the bundle trusts.
 */
public record ServerTls(
    @Nullable String bundle,
    @Nullable Path certificate,
    @Nullable Path privateKey,
    @Nullable Path authorities,
    boolean clientCertificates) {

  Tls tls(@Nullable SslBundles bundles) {
    if (bundle != null) {
      if (certificate != null || privateKey != null || authorities != null) {
        throw new IllegalArgumentException("want either a bundle or files");
      }
      Tls tls = TlsBundles.tls(bundle, bundles);
      return clientCertificates ? tls.withClientCertificates() : tls;
    }
    if (certificate == null || privateKey == null) {
      throw new IllegalArgumentException("want certificate and private-key, or a bundle");
    }
    if (clientCertificates && authorities == null) {
      throw new IllegalArgumentException("want the authorities of the client-certificates");
    }
    return authorities == null
        ? Tls.of(certificate, privateKey)
        : Tls.mutual(authorities, certificate, privateKey);
  }
}
