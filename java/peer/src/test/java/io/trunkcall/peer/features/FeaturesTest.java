package io.trunkcall.peer.features;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The measurement runs. What it measures in so few calls says nothing. */
@Timeout(120)
class FeaturesTest {
  @ParameterizedTest
  @ValueSource(strings = {"threads", "async"})
  void eachRowHasFigures(String callers, @TempDir Path folder) throws Exception {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    List<String> words = List.of(callers, "2", "200", "none", "all");
    Features.run(words, folder, new PrintStream(out, true, StandardCharsets.UTF_8));
    List<String> lines = out.toString(StandardCharsets.UTF_8).lines().toList();
    assertEquals(3, lines.size());
    assertTrue(lines.get(1).matches("none( +-?\\d+){6}"), lines.get(1));
    assertTrue(lines.get(2).matches("all( +-?\\d+){6}"), lines.get(2));
  }
}
