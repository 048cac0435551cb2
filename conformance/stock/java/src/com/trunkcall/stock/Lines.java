package com.trunkcall.stock;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.MessageOrBuilder;
import com.google.protobuf.util.JsonFormat;
import com.trunkcall.conformance.v1.Answer;
import com.trunkcall.conformance.v1.Request;
import io.grpc.Metadata;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Base64;
import java.util.HexFormat;

/** The lines of conformance/cases/README.md, section 3. */
final class Lines {
  private static final JsonFormat.Printer PRINTER =
      JsonFormat.printer().omittingInsignificantWhitespace();

  static boolean isSet(JsonObject line, String name) {
    return line.has(name) && line.get(name).getAsBoolean();
  }

  static String text(JsonObject line, String name) {
    return line.has(name) ? line.get(name).getAsString() : "";
  }

  static JsonArray array(JsonObject line, String name) {
    return line.has(name) ? line.getAsJsonArray(name) : new JsonArray();
  }

  /** Whether a request is bytes, to be sent as they stand. */
  static boolean isBytes(JsonElement request) {
    return request.getAsJsonObject().has("bytes");
  }

  static byte[] bytes(JsonElement request) {
    return Base64.getDecoder().decode(request.getAsJsonObject().get("bytes").getAsString());
  }

  static Request request(JsonElement element) throws InvalidProtocolBufferException {
    JsonObject line = element.getAsJsonObject();
    Request.Builder request = Request.newBuilder();
    if (line.has("message")) {
      JsonFormat.parser().merge(line.get("message").toString(), request);
    }
    if (line.has("size")) {
      request.setData(data(line.get("size").getAsInt(), isSet(line, "noise")));
    }
    return request.build();
  }

  /** The bytes that conformance.proto describes. */
  private static ByteString data(int size, boolean noise) {
    byte[] data = new byte[size];
    int state = 1;
    for (int i = 0; i < size; i++) {
      state = state * 1664525 + 1013904223;
      data[i] = (byte) (noise ? state >>> 24 : i % 251);
    }
    return ByteString.copyFrom(data);
  }

  private static boolean isBinary(String key) {
    return key.endsWith(Metadata.BINARY_HEADER_SUFFIX);
  }

  private static Metadata.Key<byte[]> binary(String key) {
    return Metadata.Key.of(key, Metadata.BINARY_BYTE_MARSHALLER);
  }

  private static Metadata.Key<String> ascii(String key) {
    return Metadata.Key.of(key, Metadata.ASCII_STRING_MARSHALLER);
  }

  /** Metadata of a line: a value of a key that ends in -bin is base64. */
  static Metadata metadata(JsonArray pairs) {
    Metadata metadata = new Metadata();
    for (JsonElement pair : pairs) {
      String key = pair.getAsJsonArray().get(0).getAsString();
      String value = pair.getAsJsonArray().get(1).getAsString();
      if (isBinary(key)) {
        metadata.put(binary(key), Base64.getDecoder().decode(value));
      } else {
        metadata.put(ascii(key), value);
      }
    }
    return metadata;
  }

  static JsonArray pairs(Metadata metadata) {
    JsonArray pairs = new JsonArray();
    for (String key : metadata.keys()) {
      if (isBinary(key)) {
        metadata.getAll(binary(key)).forEach(value -> pairs.add(pair(key, base64(value))));
      } else {
        metadata.getAll(ascii(key)).forEach(value -> pairs.add(pair(key, value)));
      }
    }
    return pairs;
  }

  private static JsonArray pair(String key, String value) {
    JsonArray pair = new JsonArray();
    pair.add(key);
    pair.add(value);
    return pair;
  }

  static String base64(byte[] value) {
    return Base64.getEncoder().encodeToString(value);
  }

  static JsonObject answer(Answer answer) throws InvalidProtocolBufferException {
    JsonObject line = plain(answer.toBuilder().clearData());
    line.addProperty("size", answer.getData().size());
    line.addProperty("sha256", sha256(answer.getData().toByteArray()));
    return line;
  }

  /** A message in the JSON of Protobuf. */
  static JsonObject plain(MessageOrBuilder message) throws InvalidProtocolBufferException {
    return JsonParser.parseString(PRINTER.print(message)).getAsJsonObject();
  }

  private static String sha256(byte[] data) {
    try {
      return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(data));
    } catch (NoSuchAlgorithmException impossible) {
      throw new IllegalStateException(impossible);
    }
  }

  private Lines() {}
}
