package io.trunkcall.internal.wire;

import static io.trunkcall.internal.wire.Vectors.each;
import static io.trunkcall.internal.wire.Vectors.filled;
import static io.trunkcall.internal.wire.Vectors.hex;
import static io.trunkcall.internal.wire.Vectors.receive;
import static io.trunkcall.internal.wire.Vectors.take;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** Replays spec/vectors/preface.json through the readers and through a session of either role. */
final class PrefaceVectorsTest {
  private static final JsonNode FILE = Vectors.load("preface.json");
  private static final byte[] PING = hex("000000070000000000000000efbeadde");
  private static final byte[] PING_ACK = hex("000000070000000000000100efbeadde");

  /** The meaning of a preface at the beginning of {@code data}, and what is behind it. */
  private record Read(JsonNode meaning, byte[] rest) {}

  private static Read read(byte[] data) throws ConnectionFault {
    Preface preface = Preface.read(data, 0);
    if (!preface.spoken()) {
      throw new ConnectionFault(ErrorClass.VERSION, "not spoken");
    }
    int end = Preface.SIZE + preface.settingsLength;
    SettingsEntries entries = SettingsEntries.read(data, Preface.SIZE, end);
    ObjectNode meaning = Vectors.JSON.createObjectNode();
    meaning.put("version", preface.version).put("highest", preface.highest);
    meaning.put("window", preface.window);
    ObjectNode settings = meaning.putObject("settings");
    for (int type : entries.seen) {
      put(settings, SettingsEntries.name(type), entries.settings);
    }
    return new Read(Vectors.read(meaning), Arrays.copyOfRange(data, end, data.length));
  }

  private static void put(ObjectNode to, String name, Settings settings) {
    switch (name) {
      case "max_frame_body" -> to.put(name, settings.maxFrameBody());
      case "max_message" -> to.put(name, settings.maxMessage());
      case "max_calls" -> to.put(name, settings.maxCalls());
      case "max_metadata_bytes" -> to.put(name, settings.maxMetadataBytes());
      case "max_metadata_entries" -> to.put(name, settings.maxMetadataEntries());
      case "max_methods" -> to.put(name, settings.maxMethods());
      case "keepalive_interval" -> to.put(name, settings.keepaliveInterval());
      case "min_ping_interval" -> to.put(name, settings.minPingInterval());
      case "pool" -> to.put(name, settings.pool());
      case "codecs" -> {
        ArrayNode codecs = to.putArray(name);
        new TreeMap<>(settings.codecs())
            .forEach((number, text) -> codecs.addObject().put("number", number).put("name", text));
      }
      case "compressions" -> {
        ArrayNode compressions = to.putArray(name);
        new TreeSet<>(settings.compressions()).forEach(compressions::add);
      }
      default -> throw new AssertionError(name);
    }
  }

  /** The expected meaning, with codecs in the order of their numbers. */
  private static JsonNode expected(JsonNode entry) {
    ObjectNode meaning = entry.get("decoded").deepCopy();
    if (meaning.get("settings").has("codecs")) {
      Map<Integer, JsonNode> sorted = new TreeMap<>();
      meaning
          .get("settings")
          .get("codecs")
          .forEach(one -> sorted.put(one.get("number").asInt(), one));
      ArrayNode codecs = ((ObjectNode) meaning.get("settings")).putArray("codecs");
      sorted.values().forEach(codecs::add);
    }
    return meaning;
  }

  private static Session session(boolean initiator, Events events, Settings settings) {
    SessionConfig config = SessionConfig.builder().settings(settings).build();
    return new Session(events, initiator, 0, config, MethodTable.EMPTY);
  }

  @TestFactory
  Stream<DynamicTest> wholeAndWithATail() {
    return each(
        FILE,
        entry -> {
          assertEquals(expected(entry), read(filled(entry)).meaning);
          Read behind = read(Vectors.join(filled(entry), PING));
          assertEquals(expected(entry), behind.meaning);
          assertArrayEquals(PING, behind.rest);
        },
        "valid",
        "degenerate");
  }

  @TestFactory
  Stream<DynamicTest> invalidGivesItsClass() {
    return each(
        FILE,
        entry -> {
          ConnectionFault fault = assertThrows(ConnectionFault.class, () -> read(filled(entry)));
          assertEquals(entry.get("error").asText(), fault.kind.word());
        },
        "invalid");
  }

  @TestFactory
  Stream<DynamicTest> sessionsAgreeHoweverItIsCut() {
    return each(
        FILE,
        entry -> {
          byte[] data = filled(entry);
          for (boolean initiator : new boolean[] {true, false}) {
            for (List<byte[]> parts : List.of(List.of(data), Vectors.pieces(data))) {
              NoEvents events = new NoEvents();
              Session session = session(initiator, events, Settings.DEFAULTS);
              for (byte[] part : parts) {
                assertFalse(session.opened());
                receive(session, part, 1);
              }
              assertTrue(session.opened());
              take(session);
              receive(session, PING, 2);
              assertArrayEquals(PING_ACK, take(session));
              assertEquals(List.of(), events.failures);
            }
          }
        },
        "valid",
        "degenerate");
  }

  @TestFactory
  Stream<DynamicTest> sessionsFailHoweverItIsCut() {
    return each(
        FILE,
        entry -> {
          byte[] data = filled(entry);
          for (boolean initiator : new boolean[] {true, false}) {
            for (List<byte[]> parts : List.of(List.of(data), Vectors.pieces(data))) {
              NoEvents events = new NoEvents();
              Session session = session(initiator, events, Settings.DEFAULTS);
              parts.forEach(part -> receive(session, part, 1));
              assertEquals(List.of(entry.get("error").asText()), events.failures);
            }
          }
        },
        "invalid");
  }

  @TestFactory
  Stream<DynamicTest> writtenAgain() {
    return each(
        FILE,
        entry -> {
          JsonNode meaning = expected(entry);
          Settings settings = settings(meaning.get("settings"));
          byte[] written =
              Preface.write(
                  settings, meaning.get("window").asInt(), meaning.get("highest").asInt());
          ObjectNode again = (ObjectNode) read(written).meaning;
          ObjectNode told = (ObjectNode) again.get("settings");
          boolean leftOut = false;
          for (var fields = meaning.get("settings").fields(); fields.hasNext(); ) {
            var field = fields.next();
            if (!told.has(field.getKey())) {
              leftOut = true;
              put(told, field.getKey(), Settings.DEFAULTS);
            }
          }
          assertEquals(meaning, Vectors.read(again));
          if (!leftOut && meaning.get("settings").size() < 2) {
            assertArrayEquals(filled(entry), written);
          }
        },
        "valid");
  }

  private static Settings settings(JsonNode told) {
    Map<Integer, String> codecs = new HashMap<>();
    told.path("codecs")
        .forEach(one -> codecs.put(one.get("number").asInt(), one.get("name").asText()));
    Set<Integer> compressions = new HashSet<>();
    told.path("compressions").forEach(one -> compressions.add(one.asInt()));
    return Vectors.settings(told).toBuilder().codecs(codecs).compressions(compressions).build();
  }

  @Test
  void anAcceptorAnswersAtTheSixteenthByte() throws Exception {
    Settings settings = Settings.DEFAULTS.toBuilder().maxCalls(5).build();
    Session session = session(false, new NoEvents(), settings);
    byte[] data = hex("f5544b3101010000000004000c000000");
    session.receive(data, 0, 15, 1);
    assertEquals(0, take(session).length);
    session.receive(data, 15, 1, 1);
    assertEquals("{\"max_calls\":5}", read(take(session)).meaning.get("settings").toString());
  }

  @Test
  void aServerThatServesNothingSaysSoBehindItsPreface() throws Exception {
    byte[] said = Preface.notServed("no");
    assertArrayEquals(hex("020000080000000000000000050000006e6f"), read(said).rest);
  }
}
