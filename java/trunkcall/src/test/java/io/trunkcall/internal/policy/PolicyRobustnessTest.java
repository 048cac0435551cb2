package io.trunkcall.internal.policy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.trunkcall.internal.policy.PolicyFile.Visitor;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** Whatever bytes come: a file, or faults that say where. */
final class PolicyRobustnessTest {
  private static final int CASES = Integer.getInteger("trunkcall.fuzz", 20_000);

  // The last key of a path. A fault stands in its line, which has it as it is but for escapes.
  private static final Pattern PLAIN_KEY = Pattern.compile("(?:^|\\.)([A-Za-z_][A-Za-z0-9_-]*)$");

  private static List<byte[]> seeds() throws IOException {
    List<byte[]> seeds = new ArrayList<>();
    for (String group : List.of("good", "bad")) {
      for (JsonNode entry : PolicyVectorsTest.read("files.json").get(group)) {
        if (!entry.has("fill")) {
          seeds.add(PolicyVectorsTest.bytes(entry));
        }
      }
    }
    return seeds;
  }

  @Test
  void anyBytesAreAFileOrHaveFaults() throws IOException {
    List<byte[]> seeds = seeds();
    int good = 0;
    for (int seed = 0; seed < CASES; seed++) {
      byte[] data = changed(seeds, new Random(seed));
      try {
        PolicyFile.parse(data).each(held("seed " + seed));
        good++;
      } catch (BadFileException bad) {
        check(data, bad, "seed " + seed);
      } catch (RuntimeException thrown) {
        throw new AssertionError("seed " + seed, thrown);
      }
    }
    assertTrue(good > CASES / 100 && good < CASES / 2, good + " of " + CASES + " are good");
  }

  /** A seed of which a few bytes are others, are gone, or come from another. */
  private static byte[] changed(List<byte[]> seeds, Random random) {
    byte[] data = seeds.get(random.nextInt(seeds.size())).clone();
    for (int times = random.nextInt(4); times > 0 && data.length > 0; times--) {
      int at = random.nextInt(data.length);
      switch (random.nextInt(4)) {
        case 0 -> data[at] = (byte) random.nextInt(256);
        case 1 -> data[at] = (byte) "{}[]:,'\"#-&.\n\t 0".charAt(random.nextInt(16));
        case 2 -> {
          System.arraycopy(data, at + 1, data, at, data.length - at - 1);
          data = Arrays.copyOf(data, data.length - 1);
        }
        default -> {
          byte[] other = seeds.get(random.nextInt(seeds.size()));
          int from = other.length == 0 ? 0 : random.nextInt(other.length);
          byte[] joined = Arrays.copyOf(data, at + other.length - from);
          System.arraycopy(other, from, joined, at, other.length - from);
          data = joined;
        }
      }
    }
    return data;
  }

  private static void check(byte[] data, BadFileException bad, String seed) {
    int lines = 1;
    for (byte one : data) {
      lines += one == '\n' ? 1 : 0;
    }
    assertFalse(bad.faults().isEmpty(), seed);
    assertTrue(bad.faults().size() <= 20, seed);
    for (Fault fault : bad.faults()) {
      assertTrue(fault.line() >= 1 && fault.line() <= lines, seed + ": no such line: " + fault);
      Matcher key = PLAIN_KEY.matcher(fault.path());
      if (key.find() && !fault.what().equals("is missing")) {
        // Bytes of UTF-8 as they are: no part of another character looks like one of ASCII.
        String line =
            new String(data, StandardCharsets.ISO_8859_1).split("\n", -1)[fault.line() - 1];
        assertTrue(
            line.contains(key.group(1)) || line.contains("\\"),
            () -> seed + ": " + line + " is not what is at fault: " + fault);
      }
      // A path has as many keys as mappings may be deep, each told in at most 40 characters.
      assertTrue(fault.toString().length() < 6_000, seed);
      assertTrue(StandardCharsets.UTF_8.newEncoder().canEncode(fault.toString()), seed);
    }
  }

  /** Nothing that holds is at fault. */
  private static Visitor held(String seed) {
    return (line, path, holds) -> {
      assertTrue(holds.timeout() >= 0 && holds.timeout() <= Numbers.LONGEST, seed);
      RetryRules retries = holds.retries();
      HedgeRules hedging = holds.hedging();
      assertTrue(retries == null || hedging == null, seed);
      if (retries != null) {
        assertTrue(retries.backoff() > 0 && retries.backoff() <= retries.maxBackoff(), seed);
        assertTrue(retries.attempts() >= 1 && retries.codes().bits() != 0, seed);
      }
      if (hedging != null) {
        assertTrue(holds.idempotent() && hedging.delay() > 0 && hedging.attempts() >= 2, seed);
      }
      if (holds.rate() != null) {
        assertTrue(holds.rate().rules().burst() >= 1 && !holds.rate().scope().isEmpty(), seed);
      }
    };
  }

  @Test
  void theFilesOfTheDocumentAreGood() throws Exception {
    String text = Files.readString(PolicyVectorsTest.TREE.resolve("docs/policy.md"));
    Matcher found = Pattern.compile("```yaml\n(.*?)```", Pattern.DOTALL).matcher(text);
    int files = 0;
    for (; found.find(); files++) {
      assertNotNull(PolicyFile.parse(found.group(1).getBytes(StandardCharsets.UTF_8)));
    }
    assertTrue(files >= 7, files + " files");
  }

  @Test
  void scopesAreVisitedInTheOrderOfTheFile() throws Exception {
    byte[] file =
        """
        policy: 1
        services:
          b.B:
            timeout: 1s
            methods:
              Get:
                timeout: 2s
          a.A:
            timeout: 3s
        defaults:
          timeout: 4s
        ...
        """
            .getBytes(StandardCharsets.UTF_8);
    List<String> visited = new ArrayList<>();
    PolicyFile.parse(file)
        .each((line, path, holds) -> visited.add(line + " " + path + " " + holds.timeout()));
    assertEquals(
        List.of(
            "10 defaults 4000000000",
            "3 services.\"b.B\" 1000000000",
            "6 services.\"b.B\".methods.Get 2000000000",
            "8 services.\"a.A\" 3000000000"),
        visited);
  }
}
