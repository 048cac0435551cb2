package io.trunkcall.internal.wire;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.trunkcall.Metadata;
import io.trunkcall.Status;
import java.util.ArrayList;
import java.util.List;

/** Metadata and details of statuses in the form of the vectors. */
final class MetadataMeaning {
  private MetadataMeaning() {}

  static ObjectNode of(Metadata metadata, long attempt, int counted) {
    ObjectNode meaning = Vectors.JSON.createObjectNode();
    meaning.set("entries", entries(metadata));
    ObjectNode own = meaning.putObject("own");
    if (attempt != 0) {
      own.put("attempt", attempt);
    }
    meaning.put("counted", counted);
    return meaning;
  }

  static ArrayNode entries(Metadata metadata) {
    ArrayNode entries = Vectors.JSON.createArrayNode();
    for (Metadata.Entry entry : metadata.entries()) {
      ObjectNode one = entries.addObject().put("key", entry.key());
      byte[] bytes = entry.bytes();
      if (bytes == null) {
        one.put("text", entry.text());
      } else {
        one.put("hex", Vectors.hex(bytes));
      }
    }
    return entries;
  }

  /** What an entry's meaning says, fills written out. */
  static JsonNode writtenOut(JsonNode meaning) {
    ObjectNode whole = meaning.deepCopy();
    for (JsonNode entry : whole.get("entries")) {
      ObjectNode one = (ObjectNode) entry;
      JsonNode fill = one.remove("fill");
      if (fill != null) {
        char c = (char) Integer.parseInt(fill.get("byte").asText(), 16);
        one.put(
            "text", one.get("text").asText() + String.valueOf(c).repeat(fill.get("count").asInt()));
      }
    }
    return whole;
  }

  static Metadata metadata(JsonNode entries) {
    Metadata.Builder metadata = Metadata.builder();
    for (JsonNode entry : entries) {
      String key = entry.get("key").asText();
      if (entry.has("hex")) {
        metadata.add(key, Vectors.hex(entry.get("hex").asText()));
      } else {
        metadata.add(key, entry.get("text").asText());
      }
    }
    return metadata.build();
  }

  static ArrayNode details(List<Status.Detail> details) {
    ArrayNode all = Vectors.JSON.createArrayNode();
    for (Status.Detail detail : details) {
      all.addObject().put("type_url", detail.typeUrl()).put("value", Vectors.hex(detail.value()));
    }
    return all;
  }

  static List<Status.Detail> details(JsonNode details) {
    List<Status.Detail> all = new ArrayList<>();
    for (JsonNode one : details) {
      byte[] value = Vectors.filled(one, "value", "value_fill");
      all.add(new Status.Detail(one.get("type_url").asText(), value));
    }
    return all;
  }
}
