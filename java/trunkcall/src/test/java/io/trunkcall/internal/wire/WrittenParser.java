package io.trunkcall.internal.wire;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * Takes apart all that one side writes, with the checks that its peer would make of the headers.
 */
final class WrittenParser {
  private static final Settings WIDE =
      Settings.DEFAULTS.toBuilder()
          .maxFrameBody(16_777_215)
          .maxMetadataBytes(1 << 24)
          .maxMetadataEntries(1 << 16)
          .maxMethods(65_535)
          .build();

  private final Settings peer;
  private final int readerBit;
  private boolean prefaceRead;
  private final Map<Integer, String> names = new HashMap<>();
  private final Set<String> inMessage = new HashSet<>();
  private List<Written> frames = new ArrayList<>();
  private Map<String, Integer> credits = new HashMap<>();
  int defines;
  final Map<String, Long> granted = new HashMap<>();
  long pooled; // what was spent of the pool

  WrittenParser(boolean initiator, Settings peer) {
    this.peer = peer;
    this.readerBit = initiator ? Frame.INITIATOR_BIT : 0;
  }

  void add(Written frame) {
    frames.add(frame);
  }

  /** All frames since the last time. */
  List<Written> take() {
    List<Written> taken = frames;
    frames = new ArrayList<>();
    return taken;
  }

  /** How many CREDIT frames came on each stream since the last time. */
  Map<String, Integer> takeCredits() {
    Map<String, Integer> taken = credits;
    credits = new HashMap<>();
    return taken;
  }

  void feed(byte[] data) throws Fault {
    int at = 0;
    if (!prefaceRead && data.length > 0) {
      prefaceRead = true;
      Preface preface = Preface.read(data, 0);
      at = Preface.SIZE + preface.settingsLength;
      SettingsEntries.read(data, Preface.SIZE, at);
      Written written = new Written("PREFACE");
      written.version = preface.version;
      written.highest = preface.highest;
      written.window = preface.window;
      frames.add(written);
    }
    while (at < data.length) {
      assertTrue(data.length - at >= Frame.HEADER, "a frame is written in part");
      int w0 = Frame.word(data, at);
      int w1 = Frame.word(data, at + 4);
      int w2 = Frame.word(data, at + 8);
      int w3 = Frame.word(data, at + 12);
      int body = at + Frame.HEADER;
      at = body + (w0 & 0xFFFFFF);
      assertTrue(at <= data.length, "a frame is written in part");
      Frame.check(w0, w1, w2, w3, readerBit, peer.maxFrameBody(), peer.maxMethods());
      frame(w0 >>> 24, w1, w2, w3, Arrays.copyOfRange(data, body, at));
    }
  }

  private void frame(int type, int w1, int w2, int w3, byte[] body) throws Fault {
    if (type == Frame.DEFINE) {
      String name = new String(Body.readDefine(body, 0, body.length), UTF_8);
      assertNull(names.put(w2 & 0xFFFF, name), "an id is defined again");
      defines++;
      return;
    }
    boolean ofStream = type >= Frame.CALL && type <= Frame.CANCEL && w1 != 0;
    String stream = ofStream ? Written.stream(w1) : Written.CONNECTION;
    if (type == Frame.CREDIT) {
      granted.merge(stream, (long) w3, Long::sum);
      credits.merge(stream, 1, Integer::sum);
      return;
    }
    Written frame = new Written(FrameMeaning.TYPES.get(type));
    frame.stream = stream;
    frame.flags = new TreeSet<>();
    FrameMeaning.flags(type)
        .forEach(
            (name, bit) -> {
              if ((w2 >> 16 & bit) != 0) {
                frame.flags.add(name);
              }
            });
    frame.pooled = frame.flags.remove("POOL");
    frame.length = body.length;
    if (frame.pooled) {
      pooled += body.length + Frame.MESSAGE_COST;
    }
    frame.w3 = w3 & 0xFFFFFFFFL;
    frame.codec = w2 >> 24 & 15;
    frame.compression = w2 >>> 28;
    if (type >= Frame.CALL && type <= Frame.RESULT) {
      parts(frame, type, w2, body);
    } else if (type == Frame.GOAWAY && !frame.flags.contains("ACK")) {
      frame.text = Body.text(body, 0, body.length);
    }
    frames.add(frame);
  }

  private void parts(Written frame, int type, int w2, byte[] data) throws Fault {
    Body body = new Body();
    body.read(data, 0, data.length, type, w2, inMessage.contains(frame.stream), WIDE);
    frame.total = body.total;
    frame.payload = Arrays.copyOfRange(data, body.payload, data.length);
    if (frame.flags.contains("MSG")) {
      if (frame.flags.contains("MORE")) {
        inMessage.add(frame.stream);
      } else {
        inMessage.remove(frame.stream);
      }
    }
    if (body.metadata != null) {
      frame.metadata = MetadataMeaning.entries(body.metadata);
    }
    if (type == Frame.CALL) {
      frame.inline = body.name != null;
      frame.method = frame.inline ? new String(body.name, UTF_8) : names.get(w2 & 0xFFFF);
      assertTrue(frame.method != null, "a CALL with an id that is not defined");
    } else if (type == Frame.RESULT) {
      frame.status = w2 & 0xFFFF;
      if (frame.status != 0) {
        StatusPayload status = StatusPayload.read(data, body.payload, data.length);
        frame.text = status.message;
        frame.details = MetadataMeaning.details(status.details);
      }
    }
  }
}
