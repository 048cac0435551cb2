package io.trunkcall.examples.quickstart;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.util.List;
import org.junit.jupiter.api.Test;

class QuickstartTest {
  @Test
  void itPrintsWhatTheDocumentsSay() throws Exception {
    PrintStream before = System.out;
    ByteArrayOutputStream printed = new ByteArrayOutputStream();
    System.setOut(new PrintStream(printed, true));
    try {
      Quickstart.main(new String[0]);
    } finally {
      System.setOut(before);
    }
    assertEquals(
        List.of("found user-7", "INVALID_ARGUMENT, executed: user_id 0: ids begin at 1"),
        printed.toString().lines().toList());
  }
}
