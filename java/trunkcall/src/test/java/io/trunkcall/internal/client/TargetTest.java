package io.trunkcall.internal.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What is said of targets that are none. */
class TargetTest {
  private static final String WANT = ": want HOST:PORT, unix:PATH, mem:NAME or ws://HOST:PORT/PATH";

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      textBlock =
          """
          registry:a.B | no resolver was given for the scheme "registry"; as an address: \
          a port is a number from 1 to 65535, not "a.B"# |
          a:99999      | a port is a number from 1 to 65535, not "99999"# | \
          ; no resolver was given for the scheme "a" either
          a:4001/      | there is a path behind the port; without it, it is a:4001# | \
          ; no resolver was given for the scheme "a" either
          a            | it has no port; with one it is, for example, a:8080# |
          """)
  void theLikelierFaultIsSaidFirst(String text, String why, String behind) {
    IllegalArgumentException fault =
        assertThrows(IllegalArgumentException.class, () -> Target.parse(text, Map.of()));
    String more = behind == null ? "" : behind;
    String want = "target \"" + text + "\": " + why.replace("#", WANT) + more;
    assertEquals(want, fault.getMessage());
  }
}
