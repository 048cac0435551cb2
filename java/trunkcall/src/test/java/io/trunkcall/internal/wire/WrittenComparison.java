package io.trunkcall.internal.wire;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * Compares sequences of frames with what a script expects; remembers what is known of messages of
 * which a part was written.
 */
final class WrittenComparison {
  /** What was written of a message, and its cost. */
  private record Part(byte[] bytes, long cost) {}

  private final Settings peer;
  private final Map<String, Part> partial = new HashMap<>();

  WrittenComparison(Settings peer) {
    this.peer = peer;
  }

  void compare(List<Written> frames, JsonNode expected, Set<String> ignored) {
    Map<String, Deque<Written>> actual = new HashMap<>();
    for (Written frame : frames) {
      actual.computeIfAbsent(frame.stream, stream -> new ArrayDeque<>()).add(frame);
    }
    Map<String, List<JsonNode>> wanted = new HashMap<>();
    for (JsonNode entry : expected) {
      String stream = entry.path("stream").asText(Written.CONNECTION);
      if (ignored.contains(entry.get("type").asText())) {
        continue;
      }
      for (int i = 0; i < entry.path("times").asInt(1); i++) {
        wanted.computeIfAbsent(Written.later(stream, i), s -> new ArrayList<>()).add(entry);
      }
    }
    Set<String> streams = new TreeSet<>(actual.keySet());
    streams.addAll(wanted.keySet());
    for (String stream : streams) {
      sequence(
          stream,
          actual.getOrDefault(stream, new ArrayDeque<>()),
          wanted.getOrDefault(stream, List.of()));
    }
  }

  private void sequence(String stream, Deque<Written> left, List<JsonNode> wanted) {
    for (JsonNode entry : wanted) {
      boolean optional = entry.path("optional").asBoolean(false);
      if (optional && (left.isEmpty() || !matches(left.peek(), entry))) {
        continue;
      }
      assertFalse(left.isEmpty(), stream + ": nothing written for " + brief(entry));
      if (entry.path("cut").asBoolean(false)) {
        cut(stream, left, entry);
      } else {
        one(left.remove(), entry, flags(entry));
      }
    }
    assertTrue(left.isEmpty(), stream + ": written beyond what is expected: " + left);
  }

  private boolean matches(Written frame, JsonNode entry) {
    try {
      one(frame, entry, flags(entry));
      return true;
    } catch (AssertionError e) {
      return false;
    }
  }

  private static Set<String> flags(JsonNode entry) {
    Set<String> flags = new TreeSet<>();
    entry.path("flags").forEach(flag -> flags.add(flag.asText()));
    return flags;
  }

  private void one(Written frame, JsonNode entry, Set<String> flags) {
    assertEquals(entry.get("type").asText(), frame.type, () -> frame + ", not " + brief(entry));
    if (Written.OF_THE_SOCKET.contains(frame.type)) {
      return;
    }
    if (frame.type.equals("PREFACE")) {
      assertEquals(entry.path("version").asInt(frame.version), frame.version);
      assertEquals(entry.path("highest").asInt(frame.highest), frame.highest);
      assertEquals(entry.path("window").asInt(frame.window), frame.window);
      return;
    }
    assertEquals(flags, new TreeSet<>(frame.flags), () -> "flags of " + frame);
    header(frame, entry, true);
    if (flags.contains("MSG")) {
      byte[] payload = Vectors.payload(entry);
      assertArrayEquals(payload == null ? new byte[0] : payload, frame.payload, "payload");
    }
  }

  private void header(Written frame, JsonNode entry, boolean compression) {
    assertEquals(entry.path("method").asText(frame.method), frame.method, "method");
    assertEquals(entry.path("inline").asBoolean(frame.inline), frame.inline, "inline");
    assertEquals(entry.path("status").asInt(frame.status), frame.status, () -> "of " + frame);
    long w3 = frame.w3;
    if (frame.type.equals("CALL")) {
      assertEquals(entry.path("time_us").asLong(w3), w3, "time_us");
    }
    if (frame.type.equals("RESULT")) {
      long told = entry.path("retry_after").asLong(w3);
      assertEquals(entry.path("server_time_us").asLong(told), w3, () -> "w3 of " + frame);
      assertTrue(w3 >= entry.path("retry_after_at_least").asLong(0), () -> "w3 of " + frame);
    }
    long word = entry.path("w3").asLong(w3);
    assertEquals(entry.path("reason").asLong(word), w3, () -> "reason or w3 of " + frame);
    boolean message = frame.flags.contains("MSG");
    if (message || frame.type.equals("CALL")) {
      assertEquals(entry.path("codec").asInt(1), frame.codec, "codec");
    }
    if (message && compression) {
      assertEquals(entry.path("compression").asInt(0), frame.compression, "compression");
    }
    assertEquals(entry.get("metadata"), frame.metadata, () -> "metadata of " + frame);
    for (JsonNode part : entry.path("text")) {
      String words = part.asText().toLowerCase(Locale.ROOT);
      assertTrue(frame.text.toLowerCase(Locale.ROOT).contains(words), () -> "text of " + frame);
    }
    assertEquals(entry.path("message").asText(frame.text), frame.text, "message");
    if (entry.has("details")) {
      assertEquals(details(entry.get("details")), frame.details, "details");
    }
  }

  static JsonNode details(JsonNode expected) {
    return MetadataMeaning.details(MetadataMeaning.details(expected));
  }

  /** A message in pieces, and the frame it stands for. */
  private void cut(String stream, Deque<Written> left, JsonNode entry) {
    byte[] message = Vectors.payload(entry);
    Set<String> flags = flags(entry);
    Part before = entry.path("rest").asBoolean(false) ? partial.remove(stream) : null;
    byte[] got = before == null ? new byte[0] : before.bytes;
    long cost = before == null ? 0 : before.cost;
    if (entry.get("type").asText().equals("CALL")) {
      Written opening = left.element();
      header(opening, entry, false);
      assertEquals("CALL", opening.type);
      for (String flag : List.of("META", "ONEWAY")) {
        assertEquals(flags.contains(flag), opening.flags.contains(flag), flag);
      }
      if (!opening.flags.contains("MSG")) {
        left.remove();
      }
    }
    boolean whole = false;
    boolean ended = false;
    while (!whole && !left.isEmpty() && isPiece(left.element())) {
      Written piece = left.remove();
      whole = !piece.flags.contains("MORE");
      ended = piece.flags.contains("END");
      assertTrue(piece.length <= peer.maxFrameBody());
      assertEquals(entry.path("compression").asInt(0), piece.compression);
      assertEquals(entry.path("codec").asInt(1), piece.codec);
      if (!whole) {
        assertTrue(piece.length >= Frame.PIECE_FLOOR);
        if (got.length == 0) {
          assertEquals(message.length, piece.total);
        }
      }
      got = Vectors.join(got, piece.payload);
      cost += (piece.pooled ? piece.length : piece.payload.length) + Frame.MESSAGE_COST;
    }
    assertArrayEquals(Arrays.copyOf(message, got.length), got, stream + ": the pieces");
    if (entry.has("unfinished")) {
      JsonNode bounds = entry.get("unfinished");
      assertFalse(whole);
      String said = stream + ": " + cost + " sent, not " + bounds;
      assertTrue(bounds.get(0).asLong() <= cost && cost <= bounds.get(1).asLong(), said);
      partial.put(stream, new Part(got, cost));
      return;
    }
    assertEquals(message.length, got.length, stream + ": the message is not whole");
    behind(left, entry, flags, ended);
  }

  private static boolean isPiece(Written frame) {
    return frame.flags.contains("MSG") && !frame.type.equals("RESULT");
  }

  private void behind(Deque<Written> left, JsonNode entry, Set<String> flags, boolean ended) {
    if (entry.get("type").asText().equals("RESULT")) {
      assertFalse(left.isEmpty(), "no RESULT behind the pieces");
      flags.remove("MSG");
      one(left.remove(), entry, flags);
    } else if (flags.contains("END") && !ended) {
      assertFalse(left.isEmpty(), "no END");
      Written end = left.remove();
      assertEquals("DATA", end.type);
      assertEquals(Set.of("END"), end.flags);
    } else if (!flags.contains("END")) {
      assertFalse(ended, "END too early");
    }
  }

  /** An entry without long payloads. */
  static String brief(JsonNode entry) {
    ObjectNode brief = entry.deepCopy();
    if (brief.path("payload").asText("").length() > 40) {
      brief.put("payload", "...");
    }
    return brief.toString();
  }
}
