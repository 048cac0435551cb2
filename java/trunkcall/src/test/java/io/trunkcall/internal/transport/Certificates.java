package io.trunkcall.internal.transport;

import io.netty.pkitesting.CertificateBuilder;
import io.netty.pkitesting.X509Bundle;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** An authority of the tests' own, and certificates of it, in files. */
final class Certificates {
  private final X509Bundle authority;
  private final Path folder;
  final Path ca;

  Certificates(Path folder) throws Exception {
    this.folder = folder;
    authority =
        new CertificateBuilder()
            .subject("CN=authority of " + folder.getFileName())
            .setIsCertificateAuthority(true)
            .buildSelfSigned();
    ca = folder.resolve("ca.pem");
    Files.writeString(ca, authority.getRootCertificatePEM());
  }

  /** Writes a certificate for a name and its key into one file. */
  Path issue(String file, String name) throws Exception {
    X509Bundle made =
        new CertificateBuilder().subject("CN=" + name).addSanDnsName(name).buildIssuedBy(authority);
    return write(file, made);
  }

  private Path write(String file, X509Bundle made) throws IOException {
    Path path = folder.resolve(file);
    Path whole = folder.resolve(file + ".new");
    Files.writeString(whole, made.getCertificatePathPEM() + made.getPrivateKeyPEM());
    Files.move(whole, path, java.nio.file.StandardCopyOption.REPLACE_EXISTING);
    return path;
  }
}
