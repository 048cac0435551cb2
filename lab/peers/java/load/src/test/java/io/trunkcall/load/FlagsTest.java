package io.trunkcall.load;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class FlagsTest {
  private static Options options(String... words) throws UsageError {
    Flags flags = new Flags("program bench");
    Options options = new Options(flags, List.of("Say", "Echo"));
    List<String> all = new ArrayList<>(List.of("--target", "host:1"));
    all.addAll(List.of(words));
    flags.parse(all);
    options.check();
    return options;
  }

  @Test
  void whatIsNotGivenHasItsDefault() throws UsageError {
    Config config = options().config();
    assertEquals(new Config(0, Duration.ofSeconds(5), 0, Duration.ofSeconds(1), 20_000), config);
    assertEquals(1, options().callers());
    assertEquals(1, options().connections());
    assertEquals(1024, options().size());
    assertEquals("Say", options().method());
  }

  @Test
  void aNumberOfCallsTakesThePlaceOfTheDuration() throws UsageError {
    Config config = options("--calls", "7").config();
    assertEquals(7, config.calls());
    assertEquals(Duration.ZERO, config.duration());
  }

  @Test
  void aWarmupThatIsGivenLastsAsLongAsItSays() throws UsageError {
    List<List<String>> times =
        List.of(List.of("250ms", "PT0.25S"), List.of("1m30s", "PT1M30S"), List.of(".5s", "PT0.5S"));
    for (List<String> time : times) {
      Config config = options("--warmup", time.get(0)).config();
      assertEquals(Duration.parse(time.get(1)), config.warmup());
      assertEquals(0, config.warmupCalls());
    }
    assertTrue(options("--warmup=0").config().warmup().isZero());
  }

  @Test
  void methodsHaveShortAndLongNames() throws UsageError {
    String whole = "trunkcall.bench.v1.BenchService/Echo";
    for (String name : List.of("Echo", whole, "/" + whole)) {
      assertEquals("Echo", options("--method", name).method());
    }
  }

  @Test
  void theLaterOfTwoCounts() throws UsageError {
    assertEquals(3, options("--callers", "2", "--callers=3").callers());
  }

  @Test
  void mistakesAreNamed() {
    refused("--method Sing: is not there, Say, Echo is", "--method", "Sing");
    refused("--callers 0: want a whole number, at least 1", "--callers", "0");
    refused("--callers x: want a whole number, at least 1", "--callers", "x");
    refused("--callers wants a value, N", "--callers");
    refused("--calls and --duration cannot go together", "--calls", "5", "--duration", "1s");
    refused("--duration must be above 0", "--duration", "0s");
    refused("--rate 0: want a number above 0", "--rate", "0");
    refused("--rate NaN: want a number above 0", "--rate", "NaN");
    refused("--size -1: want a whole number, at least 0", "--size", "-1");
    for (String time : List.of("3", "-1s", "1s2", "", "1 s", "9999999999999h")) {
      refused("--duration " + time + ": want a time such as 2s or 250ms", "--duration", time);
    }
    refused("there is no flag --dur", "--dur", "3s");
    refused("there is nothing to do with left", "left");
  }

  private static void refused(String text, String... words) {
    UsageError error = assertThrows(UsageError.class, () -> options(words));
    assertEquals(text, error.getMessage());
  }

  @Test
  void flagsWithoutAValueTakeNone() throws UsageError {
    Flags flags = new Flags("program");
    Flags.Value<Boolean> loud = flags.toggle("--loud", "say more");
    assertFalse(loud.get());
    assertTrue(flags.parse(List.of("--loud")));
    assertTrue(loud.get());
    UsageError error = assertThrows(UsageError.class, () -> flags.parse(List.of("--loud=yes")));
    assertEquals("--loud takes no value", error.getMessage());
  }

  @Test
  void otherWordsAreKeptForWhoWantsThem() throws UsageError {
    Flags flags = new Flags("program call");
    Flags.Value<String> target = flags.text("--target", "ADDR", "", "where");
    List<String> others = new ArrayList<>();
    assertTrue(flags.parse(List.of("one", "--target", "x", "two"), others));
    assertEquals(List.of("one", "two"), others);
    assertEquals("x", target.get());
  }

  @Test
  void helpIsNoMistake() throws UsageError {
    Flags flags = new Flags("program bench");
    new Options(flags, List.of("Say"));
    assertFalse(flags.parse(List.of("--help")));
    assertTrue(flags.help().contains("--target HOST:PORT"), flags.help());
  }

  @Test
  void addressesHaveAHostAndAPort() throws UsageError {
    assertEquals(new Address("::1", 80), Address.parse("--target", "[::1]:80"));
    assertEquals("[::1]:81", Address.parse("--target", "[::1]:80").at(81).toString());
    for (String text : List.of("host", ":1", "host:x", "host:65536", "[]:1", "host:")) {
      assertThrows(UsageError.class, () -> Address.parse("--target", text), text);
    }
  }
}
