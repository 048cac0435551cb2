package io.trunkcall.internal.policy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** spec/vectors/policy, replayed as spec/vectors/README.md says. */
final class PolicyVectorsTest {
  static final Path TREE = Path.of(System.getProperty("trunkcall.tree", "../.."));
  private static final Path FOLDER = TREE.resolve("spec/vectors/policy");

  static JsonNode read(String name) throws IOException {
    return PolicyPlay.JSON.readTree(FOLDER.resolve(name).toFile());
  }

  /** The bytes of an entry of files.json. */
  static byte[] bytes(JsonNode entry) {
    byte[] begin = HexFormat.of().parseHex(entry.path("hex").asText(""));
    String fill = entry.path("fill").path("text").asText("");
    String text =
        entry.path("text").asText("") + fill.repeat(entry.path("fill").path("count").asInt(0));
    byte[] rest = text.getBytes(StandardCharsets.UTF_8);
    byte[] all = Arrays.copyOf(begin, begin.length + rest.length);
    System.arraycopy(rest, 0, all, begin.length, rest.length);
    return all;
  }

  private static Stream<JsonNode> files(String group) throws IOException {
    return StreamSupport.stream(read("files.json").get(group).spliterator(), false);
  }

  private interface Check {
    void check(JsonNode entry) throws Exception;
  }

  private static Stream<DynamicTest> each(String group, Check check) throws IOException {
    return files(group)
        .map(one -> DynamicTest.dynamicTest(one.get("id").asText(), () -> check.check(one)));
  }

  /** A node as it is once it was text: numbers are equal then whatever class has them. */
  private static JsonNode plain(JsonNode node) throws IOException {
    return PolicyPlay.JSON.readTree(node.toString());
  }

  @TestFactory
  Stream<DynamicTest> goodFiles() throws IOException {
    return each(
        "good",
        entry -> {
          ArrayNode methods = PolicyPlay.JSON.createArrayNode();
          entry.get("methods").fieldNames().forEachRemaining(methods::add);
          ObjectNode want = PolicyPlay.JSON.createObjectNode();
          want.set("budget", entry.get("budget"));
          want.set("methods", entry.get("methods"));
          assertEquals(plain(want), plain(PolicyPlay.file(bytes(entry), methods)));
        });
  }

  @TestFactory
  Stream<DynamicTest> badFiles() throws IOException {
    return each(
        "bad",
        entry -> {
          List<String> want = new ArrayList<>();
          entry.get("faults").forEach(fault -> want.add(fault.asText()));
          BadFileException bad =
              assertThrows(BadFileException.class, () -> PolicyFile.parse(bytes(entry)));
          assertEquals(String.join("\n", want), bad.getMessage());
        });
  }

  @TestFactory
  Stream<DynamicTest> halfWrittenFiles() throws IOException {
    return each(
        "good",
        entry -> {
          if (entry.has("fill")) {
            return;
          }
          String text = entry.get("text").asText();
          String whole = text.strip();
          if (whole.charAt(0) != '{') {
            whole = text.substring(0, text.lastIndexOf("\n...") + 4);
          }
          for (int end = 0; end < whole.length(); end++) {
            byte[] half = whole.substring(0, end).getBytes(StandardCharsets.UTF_8);
            assertThrows(
                BadFileException.class, () -> PolicyFile.parse(half), whole.substring(0, end));
          }
        });
  }

  @TestFactory
  Stream<DynamicTest> sequences() throws IOException {
    return PlayedCores.NAMES.stream().flatMap(PolicyVectorsTest::sequences);
  }

  private static Stream<DynamicTest> sequences(String core) {
    try {
      JsonNode file = read(core + ".json");
      return StreamSupport.stream(file.get("sequences").spliterator(), false)
          .map(
              one ->
                  DynamicTest.dynamicTest(
                      core + " " + one.get("id").asText(), () -> sequence(core, one)));
    } catch (IOException fault) {
      throw new UncheckedIOException(fault);
    }
  }

  private static void sequence(String core, JsonNode sequence) throws Exception {
    ObjectNode given = PolicyPlay.JSON.createObjectNode().put("core", core);
    given.set("policy", sequence.get("policy"));
    given.set("steps", sequence.get("steps"));
    JsonNode outcome = plain(PolicyPlay.play(given)).get("decisions");
    for (int at = 0; at < outcome.size(); at++) {
      JsonNode step = sequence.get("steps").get(at);
      ObjectNode want = step.path("decision").deepCopy();
      if (step.path("random").size() > 0) {
        want.put("drawn", step.path("random").size());
      }
      assertEquals(want, outcome.get(at), "step " + at);
    }
  }

  @Test
  void thereAreNoOtherCores() throws IOException {
    try (Stream<Path> files = Files.list(FOLDER)) {
      List<String> names =
          files.map(file -> file.getFileName().toString().replace(".json", "")).sorted().toList();
      List<String> known = new ArrayList<>(PlayedCores.NAMES);
      known.add("files");
      assertEquals(known.stream().sorted().toList(), names);
    }
  }
}
