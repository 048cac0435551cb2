package io.trunkcall.internal.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** What the wire may use: no socket, thread, clock or codec, and of what is public five types. */
final class LayersTest {
  private static final Pattern NAME =
      Pattern.compile("\\b(?:io|java|javax|org|com)\\.[a-z][\\w.]*[A-Z]\\w*");
  private static final Pattern ALLOWED =
      Pattern.compile(
          "io\\.trunkcall\\.(Code|Delivery|Status|StatusException|Metadata)"
              + "|org\\.jspecify\\.annotations\\.\\w+"
              + "|java\\.lang\\.invoke\\.\\w+"
              + "|java\\.nio\\.ByteOrder"
              + "|java\\.nio\\.charset\\.StandardCharsets(\\.\\w+)?"
              + "|java\\.time\\.Duration"
              + "|java\\.util\\.\\w+"
              + "|java\\.util\\.function\\.\\w+"
              + "|java\\.util\\.concurrent\\.ConcurrentHashMap"
              + "|java\\.util\\.concurrent\\.atomic\\.\\w+");
  private static final Pattern CLOCK =
      Pattern.compile("System\\.(nanoTime|currentTimeMillis)|Thread\\b|synchronized");

  @Test
  void theWireUsesNothingAboveItself() throws IOException {
    List<String> wrong = new ArrayList<>();
    List<Path> sources;
    try (Stream<Path> all = Files.walk(Path.of("src/main/java/io/trunkcall/internal/wire"))) {
      sources = all.filter(path -> path.toString().endsWith(".java")).toList();
    }
    assertFalse(sources.isEmpty());
    for (Path source : sources) {
      String text = Files.readString(source).replaceAll("(?s)/\\*.*?\\*/|//[^\\n]*", "");
      Matcher names = NAME.matcher(text);
      while (names.find()) {
        if (!ALLOWED.matcher(names.group()).matches()) {
          wrong.add(source.getFileName() + ": " + names.group());
        }
      }
      Matcher clocks = CLOCK.matcher(text);
      while (clocks.find()) {
        wrong.add(source.getFileName() + ": " + clocks.group());
      }
    }
    assertEquals(List.of(), wrong);
  }
}
