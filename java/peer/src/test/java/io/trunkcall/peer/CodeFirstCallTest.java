package io.trunkcall.peer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.trunkcall.Handler;
import io.trunkcall.Server;
import java.io.IOException;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Methods without a .proto file are called by name. */
class CodeFirstCallTest {
  private static CarriedOut call(String... words) throws IOException {
    Handler[] handlers = CodeFirstServices.handlers().toArray(Handler[]::new);
    try (Server server = Server.builder().listen("127.0.0.1:0").serve(handlers).build()) {
      server.start();
      String[] all = new String[words.length + 3];
      all[0] = "call";
      all[1] = "--target";
      all[2] = "127.0.0.1:" + server.port();
      System.arraycopy(words, 0, all, 3, words.length);
      return CarriedOut.of(all);
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "calc/div | [7,-2] | msgpack | [-3,1]",
        "/calc/div | [7,2] | json | [3,1]",
        "hello/say | [\"a\",1,-2,0.5] | json | [\"a\",1,-2,0.5]",
      })
  void whatComesBackIsALineOfJson(String method, String arguments, String codec, String line)
      throws IOException {
    CarriedOut got = call("--codec", codec, method, arguments);
    assertEquals("", got.err());
    assertEquals(line + "\n", got.out());
    assertEquals(0, got.status());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "[7,0] | division by zero",
        "[7] | /calc/div takes 2 parameters, got 1",
        "[7,\"x\"] | parameter 2 of /calc/div: want a whole number",
      })
  void aFailureIsALineOfJson(String arguments, String message) throws IOException {
    CarriedOut got = call("calc/div", arguments);
    assertEquals(1, got.status());
    assertTrue(got.err().contains("INVALID_ARGUMENT"), got.err());
    assertTrue(got.err().contains(message), got.err());
  }
}
