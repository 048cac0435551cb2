package io.trunkcall;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledForJreRange;
import org.junit.jupiter.api.condition.JRE;
import org.junit.jupiter.api.io.TempDir;

/**
 * Calls and handlers on virtual threads. A virtual thread that waits while it holds a monitor pins
 * the thread that carries it; Java 21 tells of each such wait (later ones have no such monitors).
 */
class VirtualThreadsTest {
  private static final long PATIENCE = 80; // s

  @TempDir Path folder;

  @Test
  void nothingWaitsPinned() throws Exception {
    Path java = runtime();
    Path output = folder.resolve("output");
    Process program =
        new ProcessBuilder(
                java.toString(),
                "-Djdk.tracePinnedThreads=full",
                "-cp",
                System.getProperty(
                    "surefire.test.class.path", System.getProperty("java.class.path")),
                VirtualThreadsProgram.class.getName())
            .redirectErrorStream(true)
            .redirectOutput(output.toFile())
            .start();
    try {
      assertTrue(program.waitFor(PATIENCE, TimeUnit.SECONDS), () -> "no end: " + text(output));
    } finally {
      program.destroyForcibly();
    }
    assertEquals(0, program.exitValue(), () -> text(output));
    List<String> traces = traces(text(output));
    // Without its own one this test would see none if there were some.
    assertTrue(
        traces.stream().anyMatch(one -> one.contains(VirtualThreadsProgram.PINNED)),
        () -> text(output));
    List<String> others =
        traces.stream().filter(one -> !one.contains(VirtualThreadsProgram.PINNED)).toList();
    assertEquals(List.of(), others);
  }

  /** The stacks in what a program has printed, each the lines that are indented. */
  private static List<String> traces(String text) {
    List<String> all = new ArrayList<>();
    StringBuilder trace = new StringBuilder();
    for (String line : text.split("\n", -1)) {
      if (line.startsWith("    ")) {
        trace.append(line).append('\n');
      } else if (trace.length() > 0) {
        all.add(trace.toString());
        trace.setLength(0);
      }
    }
    return all;
  }

  private static String text(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException e) {
      return e.toString();
    }
  }

  /** A runtime of Java 21, which `make test` has fetched (languages/java.toml). */
  private static Path runtime() throws IOException {
    Path environment = Path.of(System.getProperty("trunkcall.tree"), "build", "java-21");
    Assumptions.assumeTrue(
        Files.isDirectory(environment),
        environment + " is not there: scripts/environment.py build/java-21 makes it");
    try (Stream<Path> files =
        Files.find(environment, 8, (path, of) -> path.endsWith("java-runtime/bin/java"))) {
      return files.findFirst().orElseThrow();
    }
  }

  @Test
  @EnabledForJreRange(max = JRE.JAVA_20, disabledReason = "the runtime has virtual threads")
  void aRuntimeWithoutThemIsToldSo() {
    UnsupportedOperationException refused =
        assertThrows(UnsupportedOperationException.class, () -> Server.builder().virtualThreads());
    assertNotNull(refused.getMessage());
    assertTrue(refused.getMessage().startsWith("virtual threads need Java 21, this is Java "));
  }
}
