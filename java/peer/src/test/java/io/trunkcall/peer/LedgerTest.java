package io.trunkcall.peer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.trunkcall.load.Failed;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LedgerTest {
  @Test
  void linesAreAppendedByAllWhoHaveTheFileOpen(@TempDir Path folder) throws Exception {
    String path = folder.resolve("ledger").toString();
    Ledger one = new Ledger(path);
    Ledger other = new Ledger(path);
    assertNotEquals(one.id(), other.id());
    one.write(Ledger.line("begin", "a"));
    other.write(Ledger.line("begin", "b"));
    JsonObject last = Ledger.line("end", "a");
    Ledger.addDeadline(last, Duration.ofHours(1));
    one.write(last);
    List<JsonObject> lines =
        Files.readAllLines(Path.of(path)).stream()
            .map(line -> JsonParser.parseString(line).getAsJsonObject())
            .toList();
    assertEquals(
        List.of("a", "b", "a"),
        lines.stream().map(line -> line.get("call").getAsString()).toList());
    long until = lines.get(2).get("deadline").getAsLong() - lines.get(2).get("at").getAsLong();
    assertTrue(until >= Duration.ofHours(1).toNanos(), "until " + until);
  }

  @Test
  void aFileThatCannotBeOpenedIsToldWithTheFlag() {
    Failed failed = assertThrows(Failed.class, () -> new Ledger("/nowhere/ledger"));
    assertTrue(failed.getMessage().startsWith("--ledger: "), failed.getMessage());
  }
}
