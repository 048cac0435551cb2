package io.trunkcall.interop;

import io.trunkcall.Client;
import io.trunkcall.ClientBuilder;
import io.trunkcall.ServerBuilder;
import io.trunkcall.Tls;
import org.junit.ClassRule;

/** Over TLS. */
public class TlsInteropTest extends NativeCases {
  @ClassRule public static final Issued ISSUED = new Issued();

  @Override
  protected void serve(ServerBuilder builder) {
    builder.tls(Tls.of(ISSUED.certificate(), ISSUED.key()));
  }

  @Override
  protected ClientBuilder connect(int port) {
    return Client.builder("127.0.0.1:" + port)
        .tls(Tls.trusting(ISSUED.authority()))
        .serverName("localhost");
  }
}
