package io.trunkcall.consul;

import com.fasterxml.jackson.core.JsonEncoding;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.trunkcall.registry.Written;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * An instance of a service as Consul has it.
 *
 * @param critical whether a check of it is
 */
record Instance(String id, Map<String, String> meta, boolean critical) {
  private static final String CRITICAL = "critical";
  private static final String META = "trunkcall-";
  private static final int PIECE = 512; // bytes of the longest value of Consul's metadata
  private static final int MOST_PIECES = 64;
  private static final Duration FORGOTTEN = Duration.ofSeconds(60); // Consul's least

  static String key(Written record) {
    return record.toString();
  }

  static String check(Written record) {
    return "service:" + key(record);
  }

  /** The record that the metadata holds. */
  byte[] data() {
    ByteArrayOutputStream data = new ByteArrayOutputStream();
    for (int i = 0; i < MOST_PIECES; i++) {
      String piece = meta.get(META + i);
      if (piece == null) {
        break;
      }
      data.writeBytes(piece.getBytes(StandardCharsets.UTF_8));
    }
    return data.toByteArray();
  }

  /** A text cut between characters into pieces that Consul takes. */
  static List<String> pieces(String text) {
    List<String> found = new ArrayList<>();
    StringBuilder piece = new StringBuilder();
    int bytes = 0;
    for (int at = 0; at < text.length(); ) {
      int one = text.codePointAt(at);
      int size = one < 0x80 ? 1 : one < 0x800 ? 2 : one < 0x10000 ? 3 : 4;
      if (bytes + size > PIECE) {
        found.add(piece.toString());
        piece.setLength(0);
        bytes = 0;
      }
      piece.appendCodePoint(one);
      bytes += size;
      at += Character.charCount(one);
    }
    found.add(piece.toString());
    return found;
  }

  /** What a record is registered with. */
  static byte[] registration(Written record, Duration lease) throws IOException {
    ByteArrayOutputStream to = new ByteArrayOutputStream();
    try (JsonGenerator json = Answer.JSON.createGenerator(to, JsonEncoding.UTF8)) {
      json.writeStartObject();
      json.writeStringField("ID", key(record));
      json.writeStringField("Name", record.record().service());
      json.writeObjectFieldStart("Meta");
      List<String> pieces = pieces(new String(record.data(), StandardCharsets.UTF_8));
      for (int i = 0; i < pieces.size(); i++) {
        json.writeStringField(META + i, pieces.get(i));
      }
      json.writeEndObject();
      address(record.record().addresses(), json);
      json.writeObjectFieldStart("Check");
      json.writeStringField("CheckID", check(record));
      json.writeStringField("Status", "passing");
      json.writeStringField("TTL", lease.toSeconds() + "s");
      json.writeStringField("DeregisterCriticalServiceAfter", FORGOTTEN.toSeconds() + "s");
      json.writeEndObject();
      json.writeEndObject();
    }
    return to.toByteArray();
  }

  /** The first address that Consul can show, for those who know only Consul. */
  private static void address(List<String> addresses, JsonGenerator json) throws IOException {
    for (String one : addresses) {
      boolean brackets = one.startsWith("[");
      int colon = brackets ? one.indexOf("]:") + 1 : one.indexOf(':');
      if (colon > 0 && one.substring(colon + 1).matches("[0-9]{1,5}")) {
        String host = brackets ? one.substring(1, colon - 1) : one.substring(0, colon);
        json.writeStringField("Address", host);
        json.writeNumberField("Port", Integer.parseInt(one.substring(colon + 1)));
        return;
      }
    }
  }

  /**
   * Reads one: an object with the members {@code Service} and {@code Checks}, or, of the agent's
   * own, {@code AggregatedStatus}; or a service by itself. The parser stands at its begin.
   */
  static Instance read(JsonParser json) throws IOException {
    String id = "";
    Map<String, String> meta = new HashMap<>();
    boolean critical = false;
    Answer.expect(json, JsonToken.START_OBJECT);
    while (json.nextToken() == JsonToken.FIELD_NAME) {
      String name = json.currentName();
      JsonToken value = json.nextToken();
      if (name.equals("Service") && value == JsonToken.START_OBJECT) {
        Instance within = read(json);
        id = within.id;
        meta = within.meta;
      } else if (name.equals("ID") && value == JsonToken.VALUE_STRING) {
        id = json.getText();
      } else if (name.equals("Meta") && value == JsonToken.START_OBJECT) {
        meta = texts(json);
      } else if (name.equals("AggregatedStatus")) {
        critical = CRITICAL.equals(json.getValueAsString());
      } else if (name.equals("Checks") && value == JsonToken.START_ARRAY) {
        critical = critical(json);
      } else {
        json.skipChildren();
      }
    }
    return new Instance(id, meta, critical);
  }

  private static Map<String, String> texts(JsonParser json) throws IOException {
    Map<String, String> found = new HashMap<>();
    while (json.nextToken() == JsonToken.FIELD_NAME) {
      String name = json.currentName();
      if (json.nextToken() == JsonToken.VALUE_STRING) {
        found.put(name, json.getText());
      } else {
        json.skipChildren();
      }
    }
    return found;
  }

  private static boolean critical(JsonParser json) throws IOException {
    boolean critical = false;
    while (json.nextToken() == JsonToken.START_OBJECT) {
      while (json.nextToken() == JsonToken.FIELD_NAME) {
        boolean status = json.currentName().equals("Status");
        json.nextToken();
        critical |= status && CRITICAL.equals(json.getValueAsString());
        json.skipChildren();
      }
    }
    return critical;
  }
}
