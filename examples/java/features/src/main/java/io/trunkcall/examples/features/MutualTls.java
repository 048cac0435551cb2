package io.trunkcall.examples.features;

import com.trunkcall.example.v1.GetUserRequest;
import com.trunkcall.example.v1.GetUserResponse;
import io.trunkcall.CallOptions;
import io.trunkcall.Client;
import io.trunkcall.Handler;
import io.trunkcall.Server;
import io.trunkcall.ServerCall;
import io.trunkcall.StatusException;
import io.trunkcall.Tls;
import java.io.IOException;
import java.nio.file.Path;
import java.security.cert.X509Certificate;
import java.time.Duration;

/**
 * A server that asks its clients for certificates, and a handler that finds out who calls.
 *
 * <pre>MutualTls ca.pem server.pem server.key client.pem client.key</pre>
 *
 * <p>Both certificates are signed by the authority; the server's is for localhost.
 */
public final class MutualTls {
  private static final CallOptions LIMITED = CallOptions.NONE.withTimeout(Duration.ofSeconds(30));

  private MutualTls() {}

  static GetUserResponse answer(GetUserRequest request, ServerCall call) throws IOException {
    X509Certificate certificate =
        (X509Certificate) call.tls().getPeerCertificates()[0]; // verified by the handshake
    return Users.user("hello " + certificate.getSubjectX500Principal().getName());
  }

  public static void main(String[] args) throws IOException {
    if (args.length != 5) {
      System.err.println("usage: MutualTls ca.pem server.pem server.key client.pem client.key");
      System.exit(2);
    }
    Path authority = Path.of(args[0]);
    Server server =
        Server.builder()
            .tls(Tls.mutual(authority, Path.of(args[1]), Path.of(args[2]))) // of its clients
            .serve(Handler.unary(Users.GET, MutualTls::answer))
            .build();
    try (server) {
      server.listen("127.0.0.1:0");
      String target = "localhost:" + server.port();
      Tls known = Tls.mutual(authority, Path.of(args[3]), Path.of(args[4])); // of its servers
      try (Client client = Client.builder(target).tls(known).build()) {
        System.out.println(client.call(Users.GET, Users.request(7), LIMITED).getName());
      }
      try (Client client = Client.builder(target).tls(Tls.trusting(authority)).build()) {
        client.call(Users.GET, Users.request(7), LIMITED);
      } catch (StatusException e) {
        System.out.println("without a certificate: " + e.code());
      }
    }
  }
}
