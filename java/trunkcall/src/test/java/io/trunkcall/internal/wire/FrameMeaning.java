package io.trunkcall.internal.wire;

import static io.trunkcall.internal.wire.Vectors.hex;
import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.trunkcall.Metadata;
import java.io.ByteArrayOutputStream;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Frames read into, and written from, the form of spec/vectors/frames.json, by the functions that
 * sessions use.
 */
final class FrameMeaning {
  static final List<String> TYPES =
      List.of("", "DEFINE", "CALL", "DATA", "RESULT", "CREDIT", "CANCEL", "PING", "GOAWAY");

  private FrameMeaning() {}

  /** The flags of a type by their names, in the order of their bits. */
  static Map<String, Integer> flags(int type) {
    Map<String, Integer> flags = new LinkedHashMap<>();
    if (type == Frame.CALL || type == Frame.DATA) {
      flags.put("END", Frame.END);
    } else if (type == Frame.PING || type == Frame.GOAWAY) {
      flags.put("ACK", Frame.ACK);
    }
    if (type == Frame.CALL || type == Frame.DATA || type == Frame.RESULT) {
      flags.put("MSG", Frame.MSG);
      if (type != Frame.RESULT) {
        flags.put("MORE", Frame.MORE);
      }
      flags.put("META", Frame.META);
      flags.put(type == Frame.CALL ? "ONEWAY" : type == Frame.DATA ? "POOL" : "REFUSED", 0x10);
    }
    if (type == Frame.RESULT) {
      flags.put("CUT", Frame.CUT);
      flags.put("STRIPPED", Frame.STRIPPED);
    }
    return flags;
  }

  static Settings settings(JsonNode entry) {
    Set<Integer> compressions = new HashSet<>();
    JsonNode listed = entry.path("accepts").path("compressions");
    if (listed.isMissingNode()) {
      compressions = Set.of(1, 2);
    } else {
      for (JsonNode number : listed) {
        compressions.add(number.asInt());
      }
    }
    return Vectors.settings(entry.path("limits")).toBuilder()
        .compressions(compressions)
        .pool(1 << 20)
        .build();
  }

  static boolean accepts(JsonNode entry, int codec) {
    JsonNode codecs = entry.path("accepts").path("codecs");
    if (codecs.isMissingNode()) {
      return codec <= 4;
    }
    for (JsonNode one : codecs) {
      if (one.asInt() == codec) {
        return true;
      }
    }
    return false;
  }

  /** The meaning of one frame; null while it is incomplete. */
  static JsonNode decode(byte[] data, JsonNode entry) throws Fault {
    if (data.length < Frame.HEADER) {
      return null;
    }
    int w0 = Frame.word(data, 0);
    int w1 = Frame.word(data, 4);
    int w2 = Frame.word(data, 8);
    int w3 = Frame.word(data, 12);
    Settings own = settings(entry);
    int ownBit = isInitiator(entry) ? 0 : Frame.INITIATOR_BIT;
    Frame.check(w0, w1, w2, w3, ownBit, own.maxFrameBody(), own.maxMethods());
    int type = w0 >>> 24;
    int end = Frame.HEADER + (w0 & 0xFFFFFF);
    if (data.length < end) {
      return null;
    }
    ObjectNode meaning = Vectors.JSON.createObjectNode();
    if (type >= 0x80) {
      meaning.put("type", "UNKNOWN").put("number", type).put("length", end - Frame.HEADER);
      return Vectors.read(meaning);
    }
    meaning.put("type", TYPES.get(type)).put("length", end - Frame.HEADER);
    meaning.put("slot", w1 & Frame.SLOT).put("generation", (w1 & Frame.GENERATION) >> 20);
    meaning.put("initiator", w1 >>> 31);
    ArrayNode flags = meaning.putArray("flags");
    flags(type)
        .forEach(
            (name, bit) -> {
              if ((w2 >> 16 & bit) != 0) {
                flags.add(name);
              }
            });
    meaning.put("codec", w2 >> 24 & 15).put("compression", w2 >>> 28);
    meaning.put("w3", w3 & 0xFFFFFFFFL);
    if (type == Frame.CALL || type == Frame.DEFINE) {
      meaning.put("method", w2 & 0xFFFF);
    } else if (type == Frame.RESULT) {
      meaning.put("status", w2 & 0xFFFF);
    }
    decodeBody(meaning, type, w2, data, end, entry);
    return Vectors.read(meaning);
  }

  static boolean isInitiator(JsonNode entry) {
    return entry.get("receiver").asText().equals("initiator");
  }

  private static void decodeBody(
      ObjectNode meaning, int type, int w2, byte[] data, int end, JsonNode entry) throws Fault {
    int start = Frame.HEADER;
    if (type == Frame.DEFINE) {
      putName(meaning, Body.readDefine(data, start, end));
    } else if (type >= Frame.CALL && type <= Frame.RESULT) {
      decodeMessage(meaning, type, w2, data, end, entry);
    } else if (type == Frame.GOAWAY && (w2 >> 16 & Frame.ACK) == 0) {
      meaning.put("text", Body.text(data, start, end));
    } else if (end > start) {
      meaning.put("ignored", hex(Arrays.copyOfRange(data, start, end)));
    }
  }

  private static void putName(ObjectNode meaning, byte[] name) {
    String text = new String(name, UTF_8);
    if (Arrays.equals(text.getBytes(UTF_8), name)) {
      meaning.put("name", text);
    } else {
      meaning.put("name_hex", hex(name));
    }
  }

  private static void decodeMessage(
      ObjectNode meaning, int type, int w2, byte[] data, int end, JsonNode entry) throws Fault {
    int flags = w2 >> 16 & 0xFF;
    boolean inMessage = entry.path("in_message").asBoolean(false);
    boolean endAlone = type == Frame.DATA && (flags & (Frame.END | Frame.MSG)) == Frame.END;
    boolean ok = type == Frame.RESULT && (w2 & 0xFFFF) == 0;
    if (inMessage && (endAlone || ok)) {
      throw new ConnectionFault(ErrorClass.PIECE, "the message in progress is not whole");
    }
    Session session = session(entry);
    ReceiveFlow flow = flow(entry, session);
    int length = end - Frame.HEADER;
    boolean pooled = type == Frame.DATA && (flags & Frame.POOL) != 0;
    if (pooled) {
      session.pool.charge(length);
    }
    Body body = new Body();
    body.read(data, Frame.HEADER, end, type, w2, inMessage, settings(entry));
    Metadata metadata = body.metadata;
    if (metadata != null) {
      meaning.set("metadata", MetadataMeaning.of(metadata, body.attempt, body.counted));
    }
    byte[] name = body.name;
    if (name != null) {
      putName(meaning, name);
    }
    if (body.total > 0) {
      meaning.put("total", body.total);
    }
    meaning.put("payload", hex(Arrays.copyOfRange(data, body.payload, end)));
    int codec = w2 >> 24 & 15;
    if ((flags & Frame.MSG) != 0) {
      int cost = pooled ? length : end - body.payload;
      meaning.put("cost", cost + Frame.MESSAGE_COST);
      boolean listed = session.lists(w2 >>> 28);
      flow.accept(w2, body.total, data, body.payload, end, accepts(entry, codec), listed);
    } else if (type == Frame.RESULT && !ok) {
      StatusPayload status = StatusPayload.read(data, body.payload, end);
      ObjectNode said = meaning.putObject("status_payload").put("message", status.message);
      said.set("details", MetadataMeaning.details(status.details));
    } else if (type == Frame.CALL && !accepts(entry, codec)) {
      throw new CallFault(ErrorClass.CODEC, "not known");
    }
  }

  /** A session with a pool of 1 MiB and room for all messages. */
  static Session session(JsonNode entry) {
    SessionConfig config =
        SessionConfig.builder()
            .settings(settings(entry))
            .load(new Load(16_384, 1L << 40))
            .incompleteBytes(1L << 40)
            .build();
    return new Session(new NoEvents(), false, 0, config, MethodTable.EMPTY);
  }

  /** The receiving half of a stream in the state that the entry tells. */
  static ReceiveFlow flow(JsonNode entry, Session session) throws Fault {
    ReceiveFlow flow = new ReceiveFlow(session);
    if (entry.path("in_message").asBoolean(false)) {
      JsonNode progress = entry.get("progress");
      byte[] received = new byte[progress.get("received").asInt()];
      int w2 =
          progress.get("compression").asInt() << 28
              | progress.get("codec").asInt() << 24
              | (Frame.MSG | Frame.MORE) << 16;
      long window = flow.window;
      flow.window = Frame.MAX_WINDOW;
      flow.accept(w2, progress.get("total").asLong(), received, 0, received.length, true, true);
      flow.window = window;
    }
    return flow;
  }

  /** What an entry's {@code decoded} says, fills written out. */
  static JsonNode expected(JsonNode entry) {
    ObjectNode meaning = entry.get("decoded").deepCopy();
    if (meaning.has("payload_fill")) {
      byte[] payload = Vectors.payload(meaning);
      meaning.remove("payload_fill");
      meaning.put("payload", hex(payload));
    }
    return meaning;
  }

  /** The frame that means this. */
  static byte[] encode(JsonNode meaning) {
    int type = TYPES.indexOf(meaning.get("type").asText());
    int bits = 0;
    for (JsonNode flag : meaning.get("flags")) {
      bits |= flags(type).get(flag.asText());
    }
    int low = meaning.path("method").asInt(meaning.path("status").asInt(0));
    int w1 =
        meaning.get("initiator").asInt() << 31
            | meaning.get("generation").asInt() << 20
            | meaning.get("slot").asInt();
    int w2 =
        meaning.get("compression").asInt() << 28
            | meaning.get("codec").asInt() << 24
            | bits << 16
            | low;
    ByteBuilder body = new ByteBuilder();
    boolean ofCall = type >= Frame.CALL && type <= Frame.RESULT;
    if (ofCall && meaning.has("metadata")) {
      JsonNode block = MetadataMeaning.writtenOut(meaning.get("metadata"));
      Settings wide = Settings.DEFAULTS.toBuilder().maxFrameBody(1 << 24).build();
      Metadata metadata = MetadataMeaning.metadata(block.get("entries"));
      long attempt = block.get("own").path("attempt").asLong(0);
      body.bytes(MetadataBlock.write(metadata, attempt, wide));
    }
    if (meaning.has("name")) {
      body.counted(meaning.get("name").asText().getBytes(UTF_8));
    }
    if (meaning.has("total")) {
      body.varint(meaning.get("total").asLong());
    }
    if (meaning.has("status_payload")) {
      JsonNode status = meaning.get("status_payload");
      body.bytes(
          StatusPayload.write(
              status.get("message").asText(), MetadataMeaning.details(status.get("details"))));
    } else if (ofCall) {
      body.bytes(Vectors.payload(meaning));
    }
    body.bytes(meaning.path("text").asText("").getBytes(UTF_8));
    body.bytes(hex(meaning.path("ignored").asText("")));
    Output output = new Output(false);
    output.frame(type, w1, w2, (int) meaning.get("w3").asLong(), body.build());
    ByteArrayOutputStream written = new ByteArrayOutputStream();
    output.take((array, offset, length, lasting) -> written.write(array, offset, length));
    return written.toByteArray();
  }
}
