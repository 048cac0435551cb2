package io.trunkcall.examples.stubs;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.util.List;
import org.junit.jupiter.api.Test;

class StubsTest {
  @Test
  void itPrintsWhatTheDocumentsSay() throws Exception {
    PrintStream before = System.out;
    ByteArrayOutputStream printed = new ByteArrayOutputStream();
    System.setOut(new PrintStream(printed, true));
    try {
      Stubs.main(new String[0]);
    } finally {
      System.setOut(before);
    }
    assertEquals(
        List.of(
            "found user-7",
            "listed user-1",
            "listed user-2",
            "listed user-3",
            "failed with INVALID_ARGUMENT"),
        printed.toString().lines().toList());
  }
}
