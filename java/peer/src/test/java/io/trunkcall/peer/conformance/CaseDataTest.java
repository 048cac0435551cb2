package io.trunkcall.peer.conformance;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.gson.JsonArray;
import com.google.gson.JsonParser;
import io.trunkcall.Metadata;
import org.junit.jupiter.api.Test;

class CaseDataTest {
  @Test
  void dataIsAsTheProtocolOfTheCasesSays() {
    assertEquals((byte) 250, CaseData.make(252, false).byteAt(250));
    assertEquals((byte) 0, CaseData.make(252, false).byteAt(251));
    // x(1) = 1664525 + 1013904223 = 1015568748, x(2) = 1586005467.
    assertArrayEquals(
        new byte[] {(byte) (1015568748 >>> 24), (byte) (1586005467 >>> 24)},
        CaseData.make(2, true).toByteArray());
  }

  @Test
  void metadataOfLinesComesBackAsItWas() {
    JsonArray pairs =
        JsonParser.parseString("[[\"key\",\"value\"],[\"a-bin\",\"AAE=\"]]").getAsJsonArray();
    Metadata metadata = CaseData.fromLines(pairs);
    assertEquals("value", metadata.get("key"));
    assertArrayEquals(new byte[] {0, 1}, metadata.getBytes("a-bin"));
    assertEquals(pairs, CaseData.toLines(metadata));
    assertEquals(metadata, CaseData.fromEntries(CaseData.toEntries(metadata)));
  }
}
