package io.trunkcall.spring;

import io.trunkcall.Tls;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.boot.ssl.SslBundles;

/**
 * TLS of a client: files, which are read again when they change, a bundle of Spring's, or what the
 * JDK trusts.
 *
 * @param enabled Whether there is TLS.
 * @param bundle A bundle of spring.ssl.bundle, in place of files.
 * @param authorities A file (PEM) with the authorities to trust, in place of those of the JDK.
 * @param certificate A file (PEM) with the certificate to show and its chain.
 * @param privateKey A file (PEM) with its key.
 * @param serverName The name that servers' certificates must show, in place of that of the target.
 */
public record ClientTls(
    @DefaultValue("true") boolean enabled,
    @Nullable String bundle,
    @Nullable Path authorities,
    @Nullable Path certificate,
    @Nullable Path privateKey,
    @Nullable String serverName) {

  Tls tls(@Nullable SslBundles bundles) {
    if (bundle != null) {
      if (certificate != null || privateKey != null || authorities != null) {
        throw new IllegalArgumentException("want either a bundle or files");
      }
      return TlsBundles.tls(bundle, bundles);
    }
    if (certificate == null && privateKey == null) {
      return authorities == null ? Tls.usual() : Tls.trusting(authorities);
    }
    if (certificate == null || privateKey == null || authorities == null) {
      throw new IllegalArgumentException(
          "want certificate, private-key and authorities together, or a bundle");
    }
    return Tls.mutual(authorities, certificate, privateKey);
  }
}
