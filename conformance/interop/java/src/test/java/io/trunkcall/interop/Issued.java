package io.trunkcall.interop;

import io.netty.pkitesting.CertificateBuilder;
import io.netty.pkitesting.X509Bundle;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.rules.TemporaryFolder;

/** An authority, and the certificate of a server that it has issued, as files. */
final class Issued extends TemporaryFolder {
  Path authority() {
    return file("ca.pem");
  }

  Path certificate() {
    return file("server.pem");
  }

  Path key() {
    return file("server.key");
  }

  private Path file(String name) {
    return getRoot().toPath().resolve(name);
  }

  @Override
  protected void before() throws Throwable {
    super.before();
    X509Bundle root =
        new CertificateBuilder()
            .subject("CN=root")
            .setIsCertificateAuthority(true)
            .buildSelfSigned();
    X509Bundle server =
        new CertificateBuilder()
            .subject("CN=localhost")
            .addSanDnsName("localhost")
            .buildIssuedBy(root);
    Files.writeString(authority(), root.getRootCertificatePEM());
    Files.writeString(certificate(), server.getCertificatePathPEM());
    Files.writeString(key(), server.getPrivateKeyPEM());
  }
}
