package io.trunkcall.interop;

import io.netty.pkitesting.CertificateBuilder;
import io.netty.pkitesting.X509Bundle;
import io.trunkcall.Client;
import io.trunkcall.ClientBuilder;
import io.trunkcall.ServerBuilder;
import io.trunkcall.Tls;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.BeforeClass;
import org.junit.ClassRule;
import org.junit.rules.TemporaryFolder;

/** Over TLS. */
public class TlsInteropTest extends Cases {
  @ClassRule public static final TemporaryFolder FOLDER = new TemporaryFolder();

  private static Path authority;
  private static Path certificate;
  private static Path key;

  @BeforeClass
  public static void issue() throws Exception {
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
    authority = FOLDER.getRoot().toPath().resolve("ca.pem");
    certificate = FOLDER.getRoot().toPath().resolve("server.pem");
    key = FOLDER.getRoot().toPath().resolve("server.key");
    Files.writeString(authority, root.getRootCertificatePEM());
    Files.writeString(certificate, server.getCertificatePathPEM());
    Files.writeString(key, server.getPrivateKeyPEM());
  }

  @Override
  protected void serve(ServerBuilder builder) {
    builder.tls(Tls.of(certificate, key));
  }

  @Override
  protected ClientBuilder connect(int port) {
    return Client.builder("127.0.0.1:" + port).tls(Tls.trusting(authority)).serverName("localhost");
  }
}
