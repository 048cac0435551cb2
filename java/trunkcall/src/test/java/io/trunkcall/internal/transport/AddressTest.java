package io.trunkcall.internal.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Addresses to listen on, and what errors say. What is dialled is in client.json. */
final class AddressTest {
  @ParameterizedTest
  @ValueSource(strings = {"127.0.0.1:0", "localhost:65535", "[::1]:80", ":0", "unix:/x", "mem:y"})
  void whatIsListenedOnIsWrittenAsItWasRead(String text) {
    assertEquals(text, Address.parseListening(text).toString());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"", "a", "a:", "a:-1", "a:65536", "::1:80", "ws://a:1/x", "unix:", "mem:"})
  void whatIsNoPlaceToListenOnIsQuoted(String text) {
    Exception fault =
        assertThrows(IllegalArgumentException.class, () -> Address.parseListening(text));
    assertTrue(fault.getMessage().startsWith("cannot listen on \"" + text + "\": "));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          http://a:1/x     | it is a URL; as an address it is a:1
          https://a:1      | it is a URL; as an address it is a:1, and TLS is an option
          /run/x.sock      | it is a path; a Unix socket there is unix:/run/x.sock
          a b:1            | there is a blank in it
          50051            | it has no host; that port on this machine is localhost:50051
          ::1:80           | an address of IPv6 stands in brackets, such as [::1]:80
          ::1              | it has no port; with one it is, for example, [::1]:8080
          example.com      | it has no port; with one it is, for example, example.com:8080
          a:1/x            | there is a path behind the port; without it, it is a:1
          a:http           | a port is a number from 1 to 65535, not "http"
          """)
  void errorsSayWhatIsWrong(String text, String why) {
    Exception fault = assertThrows(IllegalArgumentException.class, () -> Address.parse(text));
    assertTrue(fault.getMessage().contains(": " + why + ": want"), fault.getMessage());
  }

  @Test
  void aWebSocketsBytesGoOverTcp() {
    Address address = Address.parse("wss://example.com/trunk");
    assertEquals("wss://example.com/trunk", address.toString());
    assertEquals("example.com:443", address.bytes().toString());
    assertEquals("10.0.0.1", address.at("10.0.0.1").host());
  }
}
