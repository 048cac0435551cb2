package io.trunkcall.internal.wire;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.trunkcall.Metadata;
import io.trunkcall.Status;
import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/**
 * Input of every kind and cut: a session never throws, and gives the same outcome however its input
 * is split.
 */
final class RobustnessTest {
  private static final int[] FLAGS = {0, 1, 2, 3, 6, 8, 10, 11, 0x10, 0x13, 0x20};
  private static final int[] TYPES = {1, 2, 2, 3, 4, 5, 6, 7, 8, 0x80};
  private static final int[] WORDS = {
    0, 1 << 20 | 1, 1 << 20 | 2, 1 << 31 | 1 << 20 | 1, 2 << 20 | 1
  };

  /** Answers every call with what it got, and keeps what was said. */
  private static final class Echo extends NoEvents {
    final List<String> lines = new ArrayList<>();

    private void say(String what, Call call, byte[] message) {
      lines.add(what + " " + call.id() + " " + Arrays.hashCode(message));
    }

    @Override
    public void start(IncomingCall call) {
      byte[] message = call.message();
      say("start", call, message);
      if (call.method().takesOne()) {
        call.finish(message, 0, message.length, 0, Metadata.EMPTY);
      }
    }

    @Override
    public void arrived(IncomingCall call) {
      Message message = call.takeMessage();
      say("message", call, message.bytes());
      call.send(message.bytes(), 0, message.bytes().length, 0);
    }

    @Override
    public void halfClosed(IncomingCall call) {
      say("half_closed", call, null);
      call.finish(Status.OK, Metadata.EMPTY);
    }

    @Override
    public void stopped(IncomingCall call) {
      say("stopped", call, null);
    }

    @Override
    public void failed(ErrorClass kind, String text) {
      super.failed(kind, text);
      lines.add("failed " + kind);
    }
  }

  private static Session acceptor(Echo echo) {
    Settings settings = Settings.DEFAULTS.toBuilder().compressions(Set.of(1)).build();
    SessionConfig config = SessionConfig.builder().settings(settings).keepalive(0, 0).build();
    return new Session(echo, false, 0, config, Pair.METHODS);
  }

  private static byte[] drained(Session session) {
    ByteArrayOutputStream written = new ByteArrayOutputStream();
    for (byte[] data = Vectors.take(session); data.length > 0; data = Vectors.take(session)) {
      session.wrote(data.length);
      written.writeBytes(data);
    }
    return written.toByteArray();
  }

  private static void send(OutgoingCall call, String text, int compression) {
    byte[] message = text.getBytes(UTF_8);
    call.send(message, 0, message.length, compression, false);
  }

  /** Calls of several kinds, some long, with metadata, credit, a cancel and a ping. */
  private static byte[] conversation() {
    SessionConfig config = SessionConfig.builder().keepalive(0, 0).build();
    Session session = new Session(new NoEvents(), true, 0, config, MethodTable.EMPTY);
    Settings peer = Settings.DEFAULTS.toBuilder().compressions(Set.of(1)).build();
    Vectors.receive(session, Preface.write(peer, Preface.INITIAL_WINDOW), 0);
    byte[] one = {'o', 'n', 'e'};
    session.unary(Pair.UNARY, one, 0, 3, 1, 1_000_000, null);
    Metadata metadata =
        Metadata.builder().add("authorization", "x").add("k-bin", new byte[] {-1}).build();
    Opening told = new Opening().metadata(metadata).attempt(3);
    session.open(Pair.UNARY, one, 0, 3, told, 0, null);
    session.open(Pair.UNARY, new byte[70_000], 0, 70_000, new Opening().inline(true), 0, null);
    Opening streaming = new Opening().end(false).single(false);
    OutgoingCall stream = session.open(Pair.BOTH, null, 0, 0, streaming, 0, null);
    send(stream, "three", 0);
    send(stream, "zipped", 1);
    session.open(new MethodName("/t.S/None"), one, 0, 0, new Opening(), 0, null);
    session.open(Pair.BOTH, one, 0, 1, streaming, 0, null).cancel(Session.GAVE_UP);
    session.open(Pair.UNARY, one, 0, 3, new Opening().oneway(true), 0, null);
    session.ping();
    stream.halfClose();
    return drained(session);
  }

  private record Outcome(List<String> lines, byte[] written) {}

  private static Outcome outcome(byte[] data, int at) {
    Echo echo = new Echo();
    Session session = acceptor(echo);
    session.receive(data, 0, at, 5);
    session.receive(data, at, data.length - at, 5);
    session.dispatch(5);
    return new Outcome(echo.lines, drained(session));
  }

  @Test
  void splitAtEveryOffsetGivesTheSameOutcome() {
    byte[] data = conversation();
    Outcome whole = outcome(data, data.length);
    assertEquals(5, whole.lines.stream().filter(line -> line.startsWith("start")).count());
    for (int at = 0; at < data.length; at += at > 500 && at < data.length - 500 ? 997 : 1) {
      Outcome split = outcome(data, at);
      assertEquals(whole.lines, split.lines, "split at " + at);
      assertArrayEquals(whole.written, split.written);
    }
  }

  @Test
  void cutOffAtEveryOffsetEndsCleanly() {
    byte[] data = conversation();
    for (int at = 0; at < data.length; at += at > 500 && at < data.length - 500 ? 997 : 1) {
      Echo echo = new Echo();
      Session session = acceptor(echo);
      session.receive(data, 0, at, 5);
      session.dispatch(5);
      session.endOfStream(6);
      assertTrue(session.closed());
      assertEquals(0, session.servedCalls());
      assertEquals(List.of(), echo.failures, "cut at " + at);
    }
  }

  @Test
  void mutatedInputEndsTheConnectionOrIsLegal() {
    byte[] data = conversation();
    Random dice = new Random(20_261_121);
    Set<String> kinds = new TreeSet<>();
    for (int round = 0; round < 1_500; round++) {
      byte[] mutated = data.clone();
      for (int i = dice.nextInt(3); i >= 0; i--) {
        int at = dice.nextInt(dice.nextBoolean() ? 200 : data.length);
        mutated[at] = (byte) dice.nextInt(256);
      }
      kinds.addAll(feed(mutated, dice));
    }
    assertTrue(kinds.size() > 8, () -> "the mutations find too little: " + kinds);
  }

  @Test
  void randomFramesEndTheConnectionOrAreLegal() {
    Random dice = new Random(7);
    byte[] preface = Preface.write(Settings.DEFAULTS, Preface.INITIAL_WINDOW);
    Set<String> kinds = new TreeSet<>();
    for (int round = 0; round < 1_500; round++) {
      Output output = new Output(false);
      for (int i = 0; i < 6; i++) {
        randomFrame(output, dice);
      }
      ByteArrayOutputStream frames = new ByteArrayOutputStream();
      output.take((array, offset, length, lasting) -> frames.write(array, offset, length));
      kinds.addAll(feed(Vectors.join(preface, frames.toByteArray()), dice));
    }
    assertTrue(kinds.size() >= 7, () -> "the frames find too little: " + kinds);
  }

  private static int one(Random dice, int... of) {
    return of[dice.nextInt(of.length)];
  }

  private static void randomFrame(Output output, Random dice) {
    byte[] body = new byte[one(dice, 0, 0, 1, 4, 20)];
    dice.nextBytes(body);
    int w2 = one(dice, 0, 0, 1, 0x11, 0x30) << 24 | one(dice, FLAGS) << 16 | one(dice, 0, 0, 1, 5);
    output.frame(one(dice, TYPES), one(dice, WORDS), w2, one(dice, 0, 1, 1_000_000, -1), body);
  }

  /** The classes of error that the input gave; what is answered must be legal frames. */
  private static List<String> feed(byte[] data, Random dice) {
    Echo echo = new Echo();
    Session session = acceptor(echo);
    for (int at = 0; at < data.length; ) {
      int size = Math.min(one(dice, 1, 16, 100, 100_000), data.length - at);
      session.receive(data, at, size, 5);
      session.dispatch(5);
      at += size;
    }
    session.tick(70_000_000);
    checkWritten(drained(session));
    session.endOfStream(70_000_001);
    assertTrue(session.closed());
    assertEquals(0, session.share.promised);
    assertEquals(0, session.share.held);
    List<String> kinds = new ArrayList<>(echo.failures);
    kinds.remove("silent");
    return kinds;
  }

  private static void checkWritten(byte[] data) {
    if (data.length == 0) {
      return;
    }
    boolean goaway = false;
    try {
      int at = Preface.SIZE + Preface.read(data, 0).settingsLength;
      while (at < data.length) {
        assertFalse(goaway, "frames behind the GOAWAY of a connection error");
        int w0 = Frame.word(data, at);
        int w3 = Frame.word(data, at + 12);
        Frame.check(w0, Frame.word(data, at + 4), Frame.word(data, at + 8), w3, 0, 65_536, 4_096);
        goaway = w0 >>> 24 == Frame.GOAWAY && w3 == Frame.PROTOCOL_ERROR;
        assertNotEquals(Frame.CALL, w0 >>> 24);
        at += Frame.HEADER + (w0 & 0xFFFFFF);
      }
      assertEquals(data.length, at);
    } catch (ConnectionFault fault) {
      throw new AssertionError(fault.text(), fault);
    }
  }

  @Test
  void randomBytesAreNoPreface() {
    Random dice = new Random(3);
    for (int round = 0; round < 200; round++) {
      Echo echo = new Echo();
      Session session = acceptor(echo);
      byte[] data = new byte[40];
      dice.nextBytes(data);
      Vectors.receive(session, data, 1);
      assertEquals(List.of("preface"), echo.failures);
      assertEquals(0, drained(session).length);
      assertTrue(session.closed());
    }
  }

  @Test
  void aLongFrameTakesMemoryOnlyAsItComes() {
    Settings large = Settings.DEFAULTS.toBuilder().maxFrameBody(16_777_215).build();
    SessionConfig config = SessionConfig.builder().settings(large).keepalive(0, 0).build();
    List<Session> sessions = new ArrayList<>();
    byte[] start = Vectors.hex("ffffff03010010000000020100000000");
    for (int i = 0; i < 10_000; i++) { // 160 GB are announced
      Session session = new Session(new NoEvents(), false, 0, config, Pair.METHODS);
      Vectors.receive(session, Preface.write(Settings.DEFAULTS, Preface.INITIAL_WINDOW), 0);
      Vectors.receive(session, start, 1);
      assertFalse(session.closed());
      sessions.add(session);
    }
    assertEquals(10_000, sessions.size());
  }
}
