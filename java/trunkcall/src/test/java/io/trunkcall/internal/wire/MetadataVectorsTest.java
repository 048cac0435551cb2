package io.trunkcall.internal.wire;

import static io.trunkcall.internal.wire.Vectors.each;
import static io.trunkcall.internal.wire.Vectors.filled;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Arrays;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** Replays spec/vectors/metadata.json. */
final class MetadataVectorsTest {
  private static final JsonNode FILE = Vectors.load("metadata.json");

  private static MetadataBlock read(byte[] data, JsonNode entry) throws CallFault {
    Settings limits = Vectors.settings(entry.path("limits"));
    return MetadataBlock.read(
        data, 0, data.length, limits.maxMetadataBytes(), limits.maxMetadataEntries());
  }

  private static JsonNode meaning(MetadataBlock block) {
    return Vectors.read(MetadataMeaning.of(block.metadata, block.attempt, block.counted));
  }

  @TestFactory
  Stream<DynamicTest> wholeAndWithATail() {
    return each(
        FILE,
        entry -> {
          byte[] data = filled(entry);
          JsonNode expected = MetadataMeaning.writtenOut(entry.get("decoded"));
          for (byte[] tail : new byte[][] {{}, {0, 1, -1}}) {
            MetadataBlock block = read(Vectors.join(data, tail), entry);
            assertEquals(expected, meaning(block));
            assertEquals(data.length, block.end);
          }
        },
        "valid",
        "degenerate");
  }

  @TestFactory
  Stream<DynamicTest> cutOff() {
    return each(
        FILE,
        entry -> {
          byte[] data = filled(entry);
          for (int end = 0; end < data.length; end++) {
            byte[] start = Arrays.copyOf(data, end);
            CallFault fault = assertThrows(CallFault.class, () -> read(start, entry));
            assertEquals(ErrorClass.METADATA, fault.kind);
          }
        },
        "valid",
        "degenerate");
  }

  @TestFactory
  Stream<DynamicTest> invalidGivesItsClass() {
    return each(
        FILE,
        entry -> {
          CallFault fault = assertThrows(CallFault.class, () -> read(filled(entry), entry));
          assertEquals(entry.get("error").asText(), fault.kind.word());
        },
        "invalid");
  }

  @TestFactory
  Stream<DynamicTest> writtenAgain() {
    return each(
        FILE,
        entry -> {
          JsonNode meaning = MetadataMeaning.writtenOut(entry.get("decoded"));
          long attempt = meaning.get("own").path("attempt").asLong(0);
          byte[] written =
              MetadataBlock.write(
                  MetadataMeaning.metadata(meaning.get("entries")),
                  attempt,
                  Vectors.settings(entry.path("limits")));
          assertEquals(filled(entry).length, written.length);
          assertEquals(meaning, meaning(read(written, entry)));
          if (attempt == 0) {
            assertArrayEquals(filled(entry), written);
          }
        },
        "valid");
  }
}
