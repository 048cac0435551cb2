package io.trunkcall.internal.wire;

import static io.trunkcall.internal.wire.Vectors.each;
import static io.trunkcall.internal.wire.Vectors.filled;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.util.Arrays;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** Replays spec/vectors/status.json. */
final class StatusVectorsTest {
  private static final JsonNode FILE = Vectors.load("status.json");

  private static JsonNode read(byte[] data) throws CallFault {
    byte[] among = Vectors.join(new byte[] {7}, data, new byte[] {7});
    StatusPayload payload = StatusPayload.read(among, 1, 1 + data.length);
    ObjectNode meaning = Vectors.JSON.createObjectNode().put("message", payload.message);
    meaning.set("details", MetadataMeaning.details(payload.details));
    return meaning;
  }

  @TestFactory
  Stream<DynamicTest> whole() {
    return each(
        FILE,
        entry -> assertEquals(entry.get("decoded"), read(filled(entry))),
        "valid",
        "degenerate");
  }

  @TestFactory
  Stream<DynamicTest> cutOff() {
    return each(
        FILE,
        entry -> {
          byte[] data = filled(entry);
          for (int end = 1; end < data.length; end++) {
            byte[] start = Arrays.copyOf(data, end);
            CallFault fault = assertThrows(CallFault.class, () -> read(start));
            assertEquals(ErrorClass.STATUS, fault.kind);
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
          CallFault fault = assertThrows(CallFault.class, () -> read(filled(entry)));
          assertEquals(entry.get("error").asText(), fault.kind.word());
        },
        "invalid");
  }

  @TestFactory
  Stream<DynamicTest> writtenAgain() {
    return each(
        FILE,
        entry -> {
          JsonNode meaning = entry.get("decoded");
          byte[] written =
              StatusPayload.write(
                  meaning.get("message").asText(), MetadataMeaning.details(meaning.get("details")));
          assertArrayEquals(filled(entry), written);
        },
        "valid");
  }

  @Test
  void aMessageIsShortenedAtACharacterBoundary() {
    assertArrayEquals("\u0002ab\0".getBytes(UTF_8), StatusPayload.shorten("ab", 60));
    byte[] written = StatusPayload.shorten("\u00fc".repeat(100), 59);
    assertArrayEquals(("4" + "\u00fc".repeat(26) + "\0").getBytes(UTF_8), written);
  }

  @Test
  void aTimeToComeBackIsRoundedUp() {
    assertEquals(0, StatusPayload.milliseconds(Duration.ZERO));
    assertEquals(1, StatusPayload.milliseconds(Duration.ofNanos(1)));
    assertEquals(1_000, StatusPayload.milliseconds(Duration.ofSeconds(1)));
    assertEquals(-1, StatusPayload.milliseconds(Duration.ofDays(1_000_000)));
  }
}
