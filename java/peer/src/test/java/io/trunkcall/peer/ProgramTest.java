package io.trunkcall.peer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class ProgramTest {
  private static final String GET = "trunkcall.example.v1.UserService/GetUser";

  @Test
  void helpListsTheCommandsAndWrongCommandsDoSoOnStderr() {
    CarriedOut help = CarriedOut.of("help");
    assertEquals(0, help.status());
    assertEquals("", help.err());
    for (String[] words : new String[][] {{}, {"answer"}, {"--listen", "127.0.0.1:0"}}) {
      CarriedOut wrong = CarriedOut.of(words);
      assertEquals(2, wrong.status());
      assertEquals("", wrong.out());
      assertTrue(wrong.err().endsWith(help.out()), wrong.err());
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "serve",
        "call",
        "bench",
        "registry",
        "conformance",
        "connect-server",
        "connect-client"
      })
  void aCommandTellsWhatItTakes(String command) {
    CarriedOut got = CarriedOut.of(command, "--help");
    assertEquals(0, got.status());
    assertEquals("", got.err());
    assertTrue(got.out().contains(command), got.out());
  }

  @Test
  void versionIsOneLine() {
    CarriedOut got = CarriedOut.of("version");
    assertEquals(0, got.status());
    assertTrue(
        got.out().matches("peer-java trunkcall \\d.* netty \\d.* protobuf \\d.* Java \\d.*\n"));
  }

  static Stream<List<String>> wrong() {
    List<String> to = List.of("call", "--target", "127.0.0.1:1");
    List<String> listening = List.of("serve", "--listen", "127.0.0.1:0");
    List<String> load = List.of("bench", "--target", "127.0.0.1:1");
    return Stream.of(
        List.of("call", GET, "{}"),
        List.of("registry"),
        List.of("registry", "--listen", "127.0.0.1"),
        List.of("registry", "--listen", "127.0.0.1:0", "--lease", "1ms"),
        List.of("serve", "--listen", "127.0.0.1:0", "--registry", "srv:example.com"),
        and(to, GET),
        List.of("call", "--target", "http://127.0.0.1:1", GET, "{}"),
        List.of("call", "--target", "127.0.0.1:0", GET, "{}"),
        List.of("call", "--target", "127.0.0.1", GET, "{}"),
        List.of("call", "--target", "unix:", GET, "{}"),
        and(to, GET, "{}", "{}"),
        and(to, GET, "{}", "--nope"),
        and(to, GET, "{}", "--timeout", "5"),
        and(to, GET, "{}", "--timeout", "0s"),
        and(to, GET, "{}", "--metadata", "k-bin=!"),
        and(to, GET, "{}", "--metadata", "=v"),
        and(to, GET, "{}", "--tls-ca", "nofile"),
        and(to, GET, "{}", "--codec", "xml"),
        and(to, GET, "{}", "--codec", "msgpack"),
        and(to, "calc/div", "[7,2]", "--codec", "protobuf"),
        and(to, "calc/div", "[7,2]", "--codec", "protobuf-stock"),
        List.of("serve"),
        List.of("serve", "--listen", "127.0.0.1"),
        and(listening, "--codec", "xml"),
        and(listening, "--compression", "zip"),
        and(listening, "--inline", "--codec", "protobuf-stock"),
        and(listening, "--allow-cleartext"),
        and(listening, "--tls-client-ca", "x"),
        and(listening, "--tls-cert", "x"),
        and(listening, "--max-metadata", "1"),
        and(listening, "--keepalive", "1s"),
        and(listening, "more"),
        List.of("bench"),
        and(load, "--callers", "0"),
        and(load, "--calls", "1", "--duration", "1s"),
        and(load, "--method", "Nobody"),
        and(load, "--method", "Emit", "--connection-per-call"),
        and(load, "--mix", "Say=0"),
        and(load, "--mix", "Say=1", "--codec", "protobuf-stock"),
        and(load, "--cancel-share", "2"),
        and(load, "--timeout", "2s-1s"),
        and(load, "--inline"),
        List.of("connect-server"),
        List.of("connect-client"),
        List.of("connect-server", "--schema", "nofile"),
        List.of("connect-client", "--schema", "nofile"));
  }

  private static List<String> and(List<String> words, String... more) {
    return Stream.concat(words.stream(), Stream.of(more)).toList();
  }

  @ParameterizedTest
  @MethodSource("wrong")
  void whatCannotBeCarriedOutIsTurnedDownInOneLine(List<String> words) {
    CarriedOut got = CarriedOut.of(words.toArray(String[]::new));
    assertEquals(2, got.status(), got.toString());
    assertEquals("", got.out());
    assertEquals(1, got.err().lines().count(), got.err());
    assertTrue(got.err().startsWith("peer-java " + words.get(0) + ": "), got.err());
  }

  @Test
  void theStockStubsHaveNoHandlersInline() {
    CarriedOut got =
        CarriedOut.of("serve", "--listen", "127.0.0.1:0", "--inline", "--codec", "protobuf-stock");
    assertTrue(got.err().contains("--inline needs --codec protobuf"), got.err());
  }

  @Test
  void onlyLineEndsAreReplacedInAText() {
    assertEquals("a\u2028 b; c; d", Console.oneLine("a\u2028 b\nc\r\n\nd\n"));
  }

  @Test
  void aKeyThatIsEncryptedIsTurnedDown(@TempDir Path folder) throws Exception {
    Path cert = Files.writeString(folder.resolve("c.pem"), "-----BEGIN CERTIFICATE-----\n");
    Path key =
        Files.writeString(folder.resolve("k.pem"), "-----BEGIN ENCRYPTED PRIVATE KEY-----\n");
    CarriedOut got =
        CarriedOut.of(
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--tls-cert",
            cert.toString(),
            "--tls-key",
            key.toString());
    assertEquals(2, got.status());
    assertTrue(got.err().contains("encrypted"), got.err());
  }

  @Test
  void aCallThatCannotEvenBeMadeFailsAsOne() {
    for (String[] one :
        new String[][] {
          {GET, "{", "INVALID_ARGUMENT"},
          {GET, "{\"id\": 1}", "INVALID_ARGUMENT"},
          {GET, "{} {}", "INVALID_ARGUMENT"},
          {"trunkcall.example.v1.UserService/WatchUsers", "{}", "INVALID_ARGUMENT"},
          {"GetUser", "{}", "INVALID_ARGUMENT"},
          {"a.B/GetUser", "{}", "UNIMPLEMENTED"},
          {"trunkcall.example.v1.UserService/SetUser", "{}", "UNIMPLEMENTED"},
          {"trunkcall.bench.v1.BenchService/Say", "{}", "INVALID_ARGUMENT"},
        }) {
      CarriedOut got = CarriedOut.of("call", "--target", "127.0.0.1:1", one[0], one[1]);
      assertEquals(1, got.status(), got.toString());
      assertEquals("", got.out());
      assertTrue(got.err().startsWith("{\"code\":\"" + one[2] + "\""), got.err());
      assertTrue(got.err().endsWith("\"details\":[],\"delivery\":\"not_sent\"}\n"), got.err());
      assertEquals(1, got.err().lines().count());
    }
  }
}
