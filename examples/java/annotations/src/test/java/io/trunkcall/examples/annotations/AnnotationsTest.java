package io.trunkcall.examples.annotations;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.trunkcall.codefirst.CodeFirst;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.util.List;
import org.junit.jupiter.api.Test;

class AnnotationsTest {
  @Test
  void itPrintsWhatTheDocumentsSay() throws Exception {
    PrintStream before = System.out;
    ByteArrayOutputStream printed = new ByteArrayOutputStream();
    System.setOut(new PrintStream(printed, true));
    try {
      Annotations.main(new String[0]);
    } finally {
      System.setOut(before);
    }
    assertEquals(
        List.of(
            "published {hello=[dawdle, div, say]}",
            "Said[text=hello!, count=2, step=2, pitch=0.5]",
            "Division[quotient=3, remainder=1]",
            "INVALID_ARGUMENT: division by zero",
            "Said[text=first!, count=2, step=2, pitch=0.5]"
                + " Said[text=second!, count=3, step=2, pitch=0.5]",
            "Said[text=called back!, count=4, step=2, pitch=0.5]",
            "DEADLINE_EXCEEDED"),
        printed.toString().lines().toList());
  }

  @Test
  void theInterfaceCallsWhatTheClassServes() {
    CodeFirst.check(Greeter.class, Greetings.class);
  }
}
