package io.trunkcall.internal.wire;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;

/** The files of spec/vectors, and ways of cutting their bytes. */
final class Vectors {
  static final ObjectMapper JSON = new ObjectMapper();
  private static final Path FOLDER =
      Path.of(System.getProperty("trunkcall.tree", "../.."), "spec", "vectors");

  /** What is done with an entry. */
  interface Replay {
    void run(JsonNode entry) throws Exception;
  }

  private Vectors() {}

  static JsonNode load(String name) {
    try {
      return JSON.readTree(FOLDER.resolve(name).toFile());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** All scripts of sessions. */
  static List<JsonNode> scripts() {
    List<JsonNode> scripts = new ArrayList<>();
    try (Stream<Path> files = Files.list(FOLDER.resolve("sessions"))) {
      for (Path file : files.filter(path -> path.toString().endsWith(".json")).sorted().toList()) {
        JSON.readTree(file.toFile()).get("scripts").forEach(scripts::add);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return scripts;
  }

  /** A test of each entry in these groups of a file, called by its id. */
  static Stream<DynamicTest> each(JsonNode file, Replay replay, String... groups) {
    List<JsonNode> entries = new ArrayList<>();
    for (String group : groups) {
      file.get(group).forEach(entries::add);
    }
    return each(entries, replay);
  }

  static Stream<DynamicTest> each(List<JsonNode> entries, Replay replay) {
    return entries.stream()
        .map(entry -> DynamicTest.dynamicTest(entry.get("id").asText(), () -> replay.run(entry)));
  }

  static byte[] hex(String text) {
    return HexFormat.of().parseHex(text);
  }

  static String hex(byte[] bytes) {
    return HexFormat.of().formatHex(bytes);
  }

  /** The bytes of an entry, with what continues them. */
  static byte[] filled(JsonNode entry) {
    return filled(entry, "hex", "fill");
  }

  /** The payload of an entry, null if it has none. */
  static byte[] payload(JsonNode entry) {
    return entry.has("payload") || entry.has("payload_fill")
        ? filled(entry, "payload", "payload_fill")
        : null;
  }

  static byte[] filled(JsonNode entry, String field, String fill) {
    byte[] start = hex(entry.path(field).asText(""));
    JsonNode more = entry.path(fill);
    byte[] all = Arrays.copyOf(start, start.length + more.path("count").asInt(0));
    if (all.length > start.length) {
      Arrays.fill(all, start.length, all.length, hex(more.get("byte").asText())[0]);
    }
    return all;
  }

  /** Byte by byte; of long input the middle in chunks. */
  static List<byte[]> pieces(byte[] data) {
    int least = 64;
    int chunk = 4_093;
    int middle = data.length > 2 * least + chunk ? data.length - least : 0;
    List<byte[]> pieces = new ArrayList<>();
    int at = 0;
    while (at < data.length) {
      int size = at >= least && at < middle ? Math.min(chunk, middle - at) : 1;
      pieces.add(Arrays.copyOfRange(data, at, at + size));
      at += size;
    }
    return pieces;
  }

  static byte[] join(byte[]... parts) {
    ByteArrayOutputStream joined = new ByteArrayOutputStream();
    for (byte[] part : parts) {
      joined.writeBytes(part);
    }
    return joined.toByteArray();
  }

  /** All that a session has to write. */
  static byte[] take(Session session) {
    ByteArrayOutputStream taken = new ByteArrayOutputStream();
    session.take((array, offset, length, lasting) -> taken.write(array, offset, length));
    return taken.toByteArray();
  }

  static void receive(Session session, byte[] data, long now) {
    session.receive(data, 0, data.length, now);
  }

  /** A node made in a test, in the form that the same text has when it is read. */
  static JsonNode read(ObjectNode made) {
    try {
      return JSON.readTree(made.toString());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Settings with some set otherwise, by their names in the specification. */
  static Settings settings(JsonNode limits) {
    return Settings.DEFAULTS.toBuilder()
        .maxFrameBody(limits.path("max_frame_body").asInt(Settings.DEFAULTS.maxFrameBody()))
        .maxMessage(limits.path("max_message").asLong(Settings.DEFAULTS.maxMessage()))
        .maxCalls(limits.path("max_calls").asInt(Settings.DEFAULTS.maxCalls()))
        .maxMetadataBytes(
            limits.path("max_metadata_bytes").asLong(Settings.DEFAULTS.maxMetadataBytes()))
        .maxMetadataEntries(
            limits.path("max_metadata_entries").asLong(Settings.DEFAULTS.maxMetadataEntries()))
        .maxMethods(limits.path("max_methods").asInt(Settings.DEFAULTS.maxMethods()))
        .keepaliveInterval(limits.path("keepalive_interval").asLong(0))
        .minPingInterval(
            limits.path("min_ping_interval").asLong(Settings.DEFAULTS.minPingInterval()))
        .pool(limits.path("pool").asInt(0))
        .build();
  }
}
