package io.trunkcall.internal.wire;

import static io.trunkcall.internal.wire.Vectors.each;
import static io.trunkcall.internal.wire.Vectors.filled;
import static io.trunkcall.internal.wire.Vectors.hex;
import static io.trunkcall.internal.wire.Vectors.receive;
import static io.trunkcall.internal.wire.Vectors.take;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.fasterxml.jackson.databind.JsonNode;
import io.trunkcall.Code;
import io.trunkcall.Status;
import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/**
 * Replays spec/vectors/frames.json: by the functions that read frames, and through a session in
 * which each fits.
 */
final class FrameVectorsTest {
  private static final JsonNode FILE = Vectors.load("frames.json");
  private static final byte[] PING = hex("000000070000000000000000efbeadde");

  /** What a call ends with for a fault of its: at the callee, at the caller. */
  private record Codes(Code callee, Code caller) {}

  private static final Map<String, Codes> CODES =
      Map.of(
          "metadata", new Codes(Code.INVALID_ARGUMENT, Code.INTERNAL),
          "metadata_limit", new Codes(Code.RESOURCE_EXHAUSTED, Code.RESOURCE_EXHAUSTED),
          "name", new Codes(Code.INVALID_ARGUMENT, Code.OK),
          "message_size", new Codes(Code.RESOURCE_EXHAUSTED, Code.RESOURCE_EXHAUSTED),
          "codec", new Codes(Code.UNIMPLEMENTED, Code.INTERNAL),
          "compression", new Codes(Code.UNIMPLEMENTED, Code.INTERNAL),
          "status", new Codes(Code.OK, Code.NOT_FOUND));

  /** A session in which the frame of an entry fits, as the README of the vectors says. */
  private static final class Fitting {
    private static final MethodName NAME = new MethodName("/a/b");

    final NoEvents events = new NoEvents();
    final Session session;
    private final JsonNode entry;
    OutgoingCall outgoing;

    Fitting(JsonNode entry) throws Fault {
      this.entry = entry;
      Map<Integer, String> names = FrameMeaning.accepts(entry, 15) ? Map.of(15, "own") : Map.of();
      SessionConfig config =
          SessionConfig.builder()
              .settings(FrameMeaning.settings(entry).toBuilder().codecs(names).build())
              .keepalive(0, 0)
              .load(new Load(16_384, 1L << 40))
              .incompleteBytes(1L << 40)
              .build();
      MethodTable everything = name -> new ServedMethod(name, false, null);
      boolean initiator = FrameMeaning.isInitiator(entry);
      session = new Session(events, initiator, 0, config, everything);
      Settings peer = Settings.DEFAULTS.toBuilder().codecs(names).build();
      receive(session, Preface.write(peer, Preface.INITIAL_WINDOW), 0);
      take(session);
      fit();
    }

    private void fit() throws Fault {
      byte[] data = filled(entry);
      int type = Frame.word(data, 0) >>> 24;
      int w1 = Frame.word(data, 4);
      int w2 = Frame.word(data, 8);
      boolean ofCall = (w1 & Frame.SLOT) != 0 && (w1 & Frame.GENERATION) != 0;
      if (type < Frame.CALL || type > Frame.CANCEL || !ofCall) {
        return;
      }
      boolean own = (w1 & Frame.INITIATOR_BIT) == session.ownBit;
      boolean inMessage = entry.path("in_message").asBoolean(false);
      int codec = inMessage ? entry.get("progress").get("codec").asInt() : w2 >> 24 & 15;
      if (type == Frame.CALL) {
        if (!own && (w1 & Frame.SLOT) <= session.own.maxCalls()) {
          define(w2 & 0xFFFF);
          useUp(w1);
        }
      } else if (own) {
        open(codec, inMessage);
      } else if (type != Frame.RESULT) {
        serve(w1, codec, inMessage);
      }
    }

    private void frame(int type, int w1, int w2, String body) {
      byte[] bytes = hex(body);
      Output output = new Output(false);
      output.frame(type, w1, w2, 0, bytes);
      ByteArrayOutputStream frame = new ByteArrayOutputStream();
      output.take((array, offset, length, lasting) -> frame.write(array, offset, length));
      receive(session, frame.toByteArray(), 0);
    }

    private void define(int id) {
      if (id != 0) {
        frame(Frame.DEFINE, 0, id, "042f612f62");
      }
    }

    /** Has calls refused until the generation of {@code word} is next. */
    private void useUp(int word) {
      int before = word & ~Frame.GENERATION | Frame.FIRST_GENERATION;
      while (before != word) {
        frame(Frame.CALL, before, 5 << 24 | Frame.END << 16, "042f612f62");
        take(session);
        before = Frame.nextGeneration(before);
      }
    }

    private void open(int codec, boolean inMessage) throws Fault {
      Opening opening = new Opening().codec(codec).end(false).single(false);
      outgoing =
          session.servesCodec(codec) ? session.open(NAME, null, 0, 0, opening, 0, null) : null;
      if (outgoing != null) {
        if (inMessage) {
          outgoing.receiving = FrameMeaning.flow(entry, session);
        }
        SendFlow flow = outgoing.sending;
        if (flow != null) {
          flow.window = 0; // CREDIT is judged without looking at it
        }
      }
      take(session);
    }

    private void serve(int word, int codec, boolean inMessage) throws Fault {
      frame(Frame.CALL, word, codec << 24, "042f612f62");
      session.dispatch(0);
      IncomingCall call = session.callee.calls[word & Frame.SLOT];
      if (call != null) {
        call.sending = new SendFlow(0);
        if (inMessage) {
          call.receiving = FrameMeaning.flow(entry, session);
        }
      }
      take(session);
    }

    /** The status of the RESULT that was answered, -1 if none was. */
    int result() {
      byte[] answer = take(session);
      for (int at = 0; at < answer.length; ) {
        int w0 = Frame.word(answer, at);
        if (w0 >>> 24 == Frame.RESULT) {
          return Frame.word(answer, at + 8) & 0xFFFF;
        }
        at += Frame.HEADER + (w0 & 0xFFFFFF);
      }
      return -1;
    }
  }

  /** The frame whole, with one behind it, byte by byte, and cut in its middle. */
  private static List<List<byte[]>> cuts(byte[] data) {
    List<List<byte[]>> cuts = new ArrayList<>();
    cuts.add(List.of(data));
    cuts.add(List.of(Vectors.join(data, PING)));
    cuts.add(Vectors.pieces(data));
    int middle = Math.min(17, data.length);
    cuts.add(List.of(Arrays.copyOf(data, middle), Arrays.copyOfRange(data, middle, data.length)));
    return cuts;
  }

  @TestFactory
  Stream<DynamicTest> wholeAndWithATail() {
    return each(
        FILE,
        entry -> {
          byte[] data = filled(entry);
          assertEquals(FrameMeaning.expected(entry), FrameMeaning.decode(data, entry));
          byte[] more = Vectors.join(data, PING);
          assertEquals(FrameMeaning.expected(entry), FrameMeaning.decode(more, entry));
        },
        "valid",
        "degenerate");
  }

  @TestFactory
  Stream<DynamicTest> everyPrefixIsIncomplete() {
    return each(
        FILE,
        entry -> {
          byte[] data = filled(entry);
          for (int end = 0; end < data.length; end += end < 100 ? 1 : 4_093) {
            assertNull(FrameMeaning.decode(Arrays.copyOf(data, end), entry));
          }
          assertNull(FrameMeaning.decode(Arrays.copyOf(data, data.length - 1), entry));
        },
        "valid",
        "degenerate");
  }

  @TestFactory
  Stream<DynamicTest> invalidGivesItsClass() {
    return each(
        FILE,
        entry -> {
          byte[] data = filled(entry);
          Fault fault = assertThrows(Fault.class, () -> FrameMeaning.decode(data, entry));
          assertEquals(entry.get("error").asText(), fault.kind.word());
          if (entry.get("stage").asText().equals("header")) {
            byte[] header = Arrays.copyOf(data, Frame.HEADER);
            fault = assertThrows(Fault.class, () -> FrameMeaning.decode(header, entry));
            assertEquals(entry.get("error").asText(), fault.kind.word());
          }
        },
        "invalid");
  }

  @TestFactory
  Stream<DynamicTest> writtenAgain() {
    return each(
        FILE,
        entry -> {
          JsonNode meaning = entry.get("decoded");
          if (!meaning.get("type").asText().equals("UNKNOWN")) {
            assertArrayEquals(filled(entry), FrameMeaning.encode(meaning));
          }
        },
        "valid");
  }

  @TestFactory
  Stream<DynamicTest> sessionsTakeWhatIsReadable() {
    return each(
        FILE,
        entry -> {
          String type = entry.get("decoded").get("type").asText();
          for (List<byte[]> parts : cuts(filled(entry))) {
            Fitting fitting = new Fitting(entry);
            parts.forEach(part -> receive(fitting.session, part, 1));
            assertEquals(List.of(), fitting.events.failures);
            if (type.equals("CANCEL")) {
              assertEquals(Code.CANCELLED.number(), fitting.result());
            } else if (type.equals("CALL")) {
              // A name that is not text is nobody's.
              int unserved = Code.UNIMPLEMENTED.number();
              assertEquals(entry.get("decoded").has("name_hex") ? unserved : -1, fitting.result());
            }
          }
        },
        "valid",
        "degenerate");
  }

  @TestFactory
  Stream<DynamicTest> sessionsFailWithTheClass() {
    return each(
        FILE,
        entry -> {
          String error = entry.get("error").asText();
          for (List<byte[]> parts : cuts(filled(entry))) {
            Fitting fitting = new Fitting(entry);
            parts.forEach(part -> receive(fitting.session, part, 1));
            if (entry.get("ends").asText().equals("connection")) {
              assertEquals(List.of(error), fitting.events.failures);
              continue;
            }
            assertEquals(List.of(), fitting.events.failures);
            Codes codes = CODES.get(error);
            if (fitting.outgoing == null) {
              assertEquals(codes.callee.number(), fitting.result());
            } else {
              Status status = fitting.outgoing.status();
              assertNotNull(status);
              assertEquals(codes.caller, status.code());
            }
          }
        },
        "invalid");
  }
}
