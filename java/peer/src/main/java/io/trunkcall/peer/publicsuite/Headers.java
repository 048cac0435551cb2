package io.trunkcall.peer.publicsuite;

import com.google.protobuf.ByteString;
import io.trunkcall.Metadata;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Metadata as the suite has it; values of binary keys are base64 there. */
final class Headers {
  private Headers() {}

  static Metadata metadata(List<Parts> headers) {
    Metadata.Builder made = Metadata.builder();
    for (Parts header : headers) {
      String key = header.text("name").toLowerCase(Locale.ROOT);
      for (Object one : header.all("value")) {
        String value = (String) one;
        if (key.endsWith("-bin")) {
          made.add(key, Base64.getDecoder().decode(value));
        } else {
          made.add(key, value);
        }
      }
    }
    return made.build();
  }

  /** Adds metadata to a field of headers. */
  static void add(Metadata metadata, Made to, String field) {
    Map<String, List<String>> values = new LinkedHashMap<>();
    for (Metadata.Entry entry : metadata.entries()) {
      values.computeIfAbsent(entry.key(), key -> new ArrayList<>()).add(value(entry));
    }
    values.forEach(
        (key, all) -> {
          Made header = to.part(field).set("name", key);
          all.forEach(value -> header.add("value", value));
          to.add(field, header.message());
        });
  }

  private static String value(Metadata.Entry entry) {
    byte[] bytes = entry.bytes();
    return bytes == null
        ? String.valueOf(entry.text())
        : Base64.getEncoder().withoutPadding().encodeToString(bytes);
  }

  /** Adds a message to a field of messages of any type. */
  static void addAny(Parts packed, Made to, String field) {
    String url = "type.googleapis.com/" + packed.message().getDescriptorForType().getFullName();
    ByteString value = packed.message().toByteString();
    to.add(field, to.part(field).set("type_url", url).set("value", value).message());
  }
}
