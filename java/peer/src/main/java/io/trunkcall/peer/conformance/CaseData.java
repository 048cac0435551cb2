package io.trunkcall.peer.conformance;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.protobuf.ByteString;
import com.trunkcall.conformance.v1.Detail;
import com.trunkcall.conformance.v1.Entry;
import io.trunkcall.Metadata;
import io.trunkcall.Status;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;

/** Bytes, metadata and details as the cases have them. */
final class CaseData {
  private static final int PATTERN = 251;

  private CaseData() {}

  /** The bytes that conformance.proto describes. */
  static ByteString make(int size, boolean noise) {
    byte[] data = new byte[size];
    if (noise) {
      int state = 1;
      for (int i = 0; i < size; i++) {
        state = state * 1664525 + 1013904223;
        data[i] = (byte) (state >>> 24);
      }
    } else {
      for (int i = 0; i < size; i++) {
        data[i] = (byte) (i % PATTERN);
      }
    }
    return ByteString.copyFrom(data);
  }

  static Metadata fromEntries(List<Entry> entries) {
    Metadata.Builder metadata = Metadata.builder();
    for (Entry entry : entries) {
      if (isBinary(entry.getKey())) {
        metadata.add(entry.getKey(), entry.getValue().toByteArray());
      } else {
        metadata.add(entry.getKey(), entry.getValue().toStringUtf8());
      }
    }
    return metadata.build();
  }

  static List<Entry> toEntries(Metadata metadata) {
    List<Entry> entries = new ArrayList<>();
    for (Metadata.Entry entry : metadata.entries()) {
      entries.add(
          Entry.newBuilder()
              .setKey(entry.key())
              .setValue(ByteString.copyFrom(bytes(entry)))
              .build());
    }
    return entries;
  }

  private static byte[] bytes(Metadata.Entry entry) {
    byte[] bytes = entry.bytes();
    if (bytes != null) {
      return bytes;
    }
    return String.valueOf(entry.text()).getBytes(StandardCharsets.UTF_8);
  }

  /** Metadata of a line: a value of a key that ends in -bin is base64. */
  static Metadata fromLines(JsonArray pairs) {
    Metadata.Builder metadata = Metadata.builder();
    for (JsonElement pair : pairs) {
      String key = pair.getAsJsonArray().get(0).getAsString();
      String value = pair.getAsJsonArray().get(1).getAsString();
      if (isBinary(key)) {
        metadata.add(key, Base64.getDecoder().decode(value));
      } else {
        metadata.add(key, value);
      }
    }
    return metadata.build();
  }

  static JsonArray toLines(Metadata metadata) {
    JsonArray pairs = new JsonArray();
    for (Metadata.Entry entry : metadata.entries()) {
      byte[] bytes = entry.bytes();
      JsonArray pair = new JsonArray();
      pair.add(entry.key());
      pair.add(bytes != null ? Base64.getEncoder().encodeToString(bytes) : entry.text());
      pairs.add(pair);
    }
    return pairs;
  }

  static List<Status.Detail> fromDetails(List<Detail> details) {
    List<Status.Detail> made = new ArrayList<>();
    for (Detail detail : details) {
      made.add(new Status.Detail(detail.getTypeUrl(), detail.getValue().toByteArray()));
    }
    return made;
  }

  static List<Detail> toDetails(List<Status.Detail> details) {
    List<Detail> told = new ArrayList<>();
    for (Status.Detail detail : details) {
      told.add(
          Detail.newBuilder()
              .setTypeUrl(detail.typeUrl())
              .setValue(ByteString.copyFrom(detail.value()))
              .build());
    }
    return told;
  }

  private static boolean isBinary(String key) {
    return key.endsWith("-bin");
  }
}
