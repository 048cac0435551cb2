package io.trunkcall.examples.features;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.pkitesting.CertificateBuilder;
import io.netty.pkitesting.X509Bundle;
import io.trunkcall.Handler;
import io.trunkcall.Server;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the examples print. */
class FeaturesTest {
  private interface Program {
    void main(String[] args) throws Exception;
  }

  private static List<String> printed(Program program, String... args) throws Exception {
    PrintStream before = System.out;
    ByteArrayOutputStream printed = new ByteArrayOutputStream();
    System.setOut(new PrintStream(printed, true));
    try {
      program.main(args);
    } finally {
      System.setOut(before);
    }
    return printed.toString().lines().toList();
  }

  @Test
  void streams() throws Exception {
    assertEquals(
        List.of("found user-3", "imported 2", "watched user-7", "watched user-8"),
        printed(Streams::main));
  }

  @Test
  void errors() throws Exception {
    assertEquals(
        List.of(
            "INVALID_ARGUMENT, executed: ids begin at 1",
            "user_id must be at least 1",
            "UNAVAILABLE: it did not run; repeat it if you like"),
        printed(Errors::main));
  }

  @Test
  void policies() throws Exception {
    Path file = Path.of("../../go/policies/policy.yaml");
    assertEquals(List.of("Ada after 3 attempts"), printed(Policies::main, file.toString()));
  }

  @Test
  void deadlines() throws Exception {
    assertEquals(
        List.of(
            "two services on: started",
            "two services on: interrupted",
            "DEADLINE_EXCEEDED",
            "two services on: started, interrupted"),
        printed(Deadlines::main));
  }

  @Test
  void metadata() throws Exception {
    assertEquals(List.of("user-7 of north", "server-1, 3"), printed(MetadataOfCalls::main));
  }

  @Test
  void tokens() throws Exception {
    assertEquals(
        List.of(
            "hello, Ada",
            "UNAUTHENTICATED: /trunkcall.example.v1.UserService/GetUser wants a token (refused)"),
        printed(Tokens::main));
  }

  @Test
  void anInterceptorThatRetries() throws Exception {
    assertEquals(List.of("user-7 at attempt 3"), printed(Retry::main));
  }

  @Test
  void mutualTls(@TempDir Path folder) throws Exception {
    X509Bundle authority =
        new CertificateBuilder()
            .subject("CN=authority")
            .setIsCertificateAuthority(true)
            .buildSelfSigned();
    X509Bundle server =
        new CertificateBuilder()
            .subject("CN=localhost")
            .addSanDnsName("localhost")
            .buildIssuedBy(authority);
    X509Bundle client = new CertificateBuilder().subject("CN=Ada").buildIssuedBy(authority);
    String[] files = {
      write(folder.resolve("ca.pem"), authority.getRootCertificatePEM()),
      write(folder.resolve("server.pem"), server.getCertificatePathPEM()),
      write(folder.resolve("server.key"), server.getPrivateKeyPEM()),
      write(folder.resolve("client.pem"), client.getCertificatePathPEM()),
      write(folder.resolve("client.key"), client.getPrivateKeyPEM())
    };
    assertEquals(
        List.of("hello CN=Ada", "without a certificate: UNAVAILABLE"),
        printed(MutualTls::main, files));
  }

  private static String write(Path path, String text) throws IOException {
    return Files.writeString(path, text).toString();
  }

  @Test
  void traces() throws Exception {
    String method = "trunkcall.example.v1.UserService/ListUsers";
    assertEquals(
        List.of(
            "3 users",
            "SERVER " + method + " within another, true",
            "CLIENT " + method + " root, true"),
        printed(Traces::main));
  }

  @Test
  void aDialerThroughAProxy() throws Exception {
    Handler get =
        Handler.unary(Users.GET, (request, call) -> Users.user("user-" + request.getUserId()));
    try (Server server = Server.builder().serve(get).listen("127.0.0.1:0").build().start();
        SocksProxy proxy = new SocksProxy()) {
      assertEquals(
          List.of("found user-7"),
          printed(Tunnel::main, proxy.address(), "inside.example:" + server.port()));
      assertEquals(List.of("inside.example"), List.copyOf(proxy.asked));
    }
  }

  @Test
  void aProtocolOfOnesOwn() throws Exception {
    assertEquals(
        List.of(
            "\"hello, Ada\"",
            "UNIMPLEMENTED: method /greeter/none is not served by this server",
            "hello, Grace",
            "null"),
        printed(OwnProtocol::main));
  }

  @Test
  void codecs() throws Exception {
    assertEquals(List.of("1500000 bytes", "[3, columns]", "by 2"), printed(Codecs::main));
  }

  @Test
  void aRegistry() throws Exception {
    assertEquals(List.of("one", "two"), printed(Registry::main));
  }

  @Test
  void aRegistryOverAnInventory() throws Exception {
    assertEquals(List.of("one", "two"), printed(Inventory::main));
  }

  @Test
  void aBalancerByWeight() throws Exception {
    String served = printed(Weighted::main).get(0);
    Matcher both = Pattern.compile("\\{large=(\\d+), small=(\\d+)}").matcher(served);
    assertTrue(both.matches(), served);
    // A fair draw gives 900. That it gives no more than 700 happens once in 10^60 runs.
    assertTrue(Integer.parseInt(both.group(1)) > 700, served);
  }
}
