package io.trunkcall.spring;

import io.trunkcall.Tls;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.ssl.NoSuchSslBundleException;
import org.springframework.boot.ssl.SslBundles;

/** Bundles of Spring's as Trunkcall takes them. */
final class TlsBundles {
  private TlsBundles() {}

  static Tls tls(String name, @Nullable SslBundles bundles) {
    if (bundles == null) {
      throw new IllegalArgumentException("bundle \"" + name + "\": Spring has no bundles here");
    }
    try {
      return Tls.of(bundles.getBundle(name).createSslContext());
    } catch (NoSuchSslBundleException e) {
      throw new IllegalArgumentException(
          "bundle \"" + name + "\": there is none of that name in spring.ssl.bundle", e);
    }
  }
}
