package io.trunkcall.internal.wire;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.trunkcall.Code;
import io.trunkcall.Delivery;
import io.trunkcall.Metadata;
import io.trunkcall.Status;
import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/** Drives a session through a script of spec/vectors/sessions, with time injected. */
final class ScriptRunner {
  private static final long BEGIN = 1_000_000_000; // µs; where the clock starts means nothing
  private static final Set<String> ONE_ANSWER = Set.of("unary", "client_streaming", "oneway");
  private static final Set<String> ONE_REQUEST = Set.of("unary", "server_streaming", "oneway");

  private final JsonNode script;
  private final boolean bytewise;
  private final boolean ofTransport;
  private final ScriptRecorder recorder = new ScriptRecorder();
  private final Map<String, MethodName> names = new HashMap<>();
  private final Session session;
  private final WrittenParser parser;
  private final WrittenComparison comparison;
  private final Set<String> shut = new HashSet<>();
  private boolean held;

  ScriptRunner(JsonNode script, boolean bytewise) throws Fault {
    this.script = script;
    this.bytewise = bytewise;
    this.ofTransport = script.get("layer").asText().equals("transport");
    JsonNode methods = script.path("methods");
    MethodTable served =
        name ->
            methods.has(name)
                ? new ServedMethod(name, ONE_REQUEST.contains(methods.get(name).asText()), null)
                : null;
    boolean initiator = script.get("role").asText().equals("initiator");
    session = new Session(recorder, initiator, BEGIN, config(script.path("own")), served);
    byte[] preface = Vectors.hex(script.path("peer_preface").asText(""));
    Settings peer =
        preface.length == 0
            ? Settings.DEFAULTS
            : SettingsEntries.read(preface, Preface.SIZE, preface.length).settings;
    parser = new WrittenParser(initiator, peer);
    comparison = new WrittenComparison(peer);
    if (preface.length > 0) {
      Vectors.receive(session, preface, BEGIN);
      flush();
      assertEquals(List.of("PREFACE"), parser.take().stream().map(one -> one.type).toList());
    }
  }

  private static SessionConfig config(JsonNode own) {
    Map<Integer, String> codecs = new HashMap<>();
    own.path("codecs")
        .forEach(one -> codecs.put(one.get("number").asInt(), one.get("name").asText()));
    Set<Integer> compressions = new HashSet<>();
    own.path("compressions").forEach(one -> compressions.add(one.asInt()));
    Settings settings =
        Vectors.settings(own).toBuilder().codecs(codecs).compressions(compressions).build();
    long keepalive = own.path("keepalive_ms").asLong(0) * 1_000;
    long answer = own.path("keepalive_answer_ms").asLong(20_000) * 1_000;
    return SessionConfig.builder()
        .settings(settings)
        .window(own.path("window").asInt(Preface.INITIAL_WINDOW))
        .keepalive(keepalive, answer)
        .exact(true)
        .load(new Load(own.path("running_handlers").asInt(16_384), 1 << 30))
        .build();
  }

  void run() throws Fault {
    flush();
    int number = 0;
    for (JsonNode step : script.get("steps")) {
      try {
        if (step.has("do")) {
          perform(step);
          flush();
        } else {
          expect(step);
        }
      } catch (AssertionError | RuntimeException e) {
        throw new AssertionError(
            "step " + number + ", " + WrittenComparison.brief(step) + ": " + e.getMessage(), e);
      }
      number++;
    }
    assertEquals(List.of(), recorder.take(), "events that no step expected");
    List<Written> left = new ArrayList<>(parser.take());
    left.removeIf(one -> !ofTransport && Written.OF_THE_SOCKET.contains(one.type));
    assertEquals(List.of(), left, "written, and no step expected it");
  }

  private byte[] take() {
    ByteArrayOutputStream taken = new ByteArrayOutputStream();
    long size =
        session.take((array, offset, length, lasting) -> taken.write(array, offset, length));
    assertEquals(taken.size(), size);
    return taken.toByteArray();
  }

  private void flush() throws Fault {
    if (held) {
      return;
    }
    for (byte[] data = take(); data.length > 0; data = take()) {
      session.wrote(data.length);
      parser.feed(data);
    }
    if (session.halfClose() && !session.closed() && shut.add("HALF_CLOSE")) {
      parser.add(new Written("HALF_CLOSE"));
    }
    if (session.closed() && shut.add("CLOSE")) {
      parser.add(new Written("CLOSE"));
    }
  }

  // Steps.

  private void perform(JsonNode step) throws Fault {
    switch (step.get("do").asText()) {
      case "receive" -> receive(step);
      case "end" -> {
        if (held) {
          take();
          session.wrote(step.path("passed").asLong(0));
        }
        session.endOfStream(session.now());
      }
      case "call" -> call(step);
      case "send" -> send(step);
      case "half_close" -> own(step).halfClose();
      case "cancel" -> own(step).cancel(Session.GAVE_UP);
      case "consume" -> consume(step);
      case "header" -> served(step).sendMetadata(metadata(step));
      case "answer" -> {
        byte[] message = Vectors.payload(step);
        served(step)
            .finish(message, 0, message.length, step.path("compression").asInt(0), metadata(step));
      }
      case "finish" -> {
        Status status =
            Status.of(Code.of(step.get("status").asInt()), step.path("text").asText(""))
                .withDetails(MetadataMeaning.details(step.path("details")));
        served(step).finish(status, metadata(step));
      }
      case "return" -> served(step).finish(Status.OK, Metadata.EMPTY);
      case "drain" -> session.drain(session.now(), false);
      case "grace_over" -> session.graceOver(session.now());
      case "advance" -> {
        for (long left = step.get("ms").asLong() * 1_000; left > 0; left -= 1_000_000) {
          session.tick(session.now() + Math.min(left, 1_000_000));
          flush();
        }
      }
      case "hold" -> held = true;
      case "release" -> held = false;
      default -> throw new AssertionError(step.toString());
    }
  }

  private OutgoingCall own(JsonNode step) {
    return (OutgoingCall) recorder.call(step.get("call").asText());
  }

  private IncomingCall served(JsonNode step) {
    return (IncomingCall) recorder.call(step.get("call").asText());
  }

  private static Metadata metadata(JsonNode step) {
    return MetadataMeaning.metadata(step.path("metadata"));
  }

  private void receive(JsonNode step) throws Fault {
    ByteArrayOutputStream input = new ByteArrayOutputStream();
    step.get("input").forEach(one -> input.writeBytes(Vectors.filled(one)));
    byte[] data = input.toByteArray();
    if (step.has("apart")) {
      int size = step.get("apart").asInt();
      for (int at = 0; at < data.length; at += size) {
        byte[] part = Arrays.copyOfRange(data, at, Math.min(at + size, data.length));
        takeIn(List.of(part), 0);
        flush();
      }
    } else {
      takeIn(parts(data), step.path("late_ms").asLong(0) * 1_000);
    }
  }

  private List<byte[]> parts(byte[] data) {
    return bytewise ? Vectors.pieces(data) : List.of(data);
  }

  /** The memory that input lies in is written over once it was received. */
  private void takeIn(List<byte[]> parts, long late) {
    for (byte[] part : parts) {
      byte[] memory = Vectors.join(new byte[3], part, new byte[3]);
      session.receive(memory, 3, part.length, session.now());
      Arrays.fill(memory, (byte) 0xFF);
    }
    session.dispatch(session.now() + late);
  }

  private void call(JsonNode step) throws Fault {
    int times = step.path("times").asInt(1);
    byte[] answers = step.has("answers") ? Vectors.filled(step.get("answers")) : new byte[0];
    int size = answers.length / times;
    for (int i = 0; i < times; i++) {
      open(step, Written.later(step.get("as").asText(), i));
      if (size > 0) {
        flush();
        takeIn(parts(Arrays.copyOfRange(answers, i * size, (i + 1) * size)), 0);
        flush();
      }
    }
  }

  private void open(JsonNode step, String label) {
    String method = step.get("method").asText();
    String kind = script.get("methods").get(method).asText();
    byte[] message = Vectors.payload(step);
    long deadline = step.has("deadline_us") ? session.now() + step.get("deadline_us").asLong() : 0;
    boolean end = step.path("end").asBoolean(ONE_REQUEST.contains(kind));
    Opening opening =
        new Opening()
            .codec(step.path("codec").asInt(1))
            .compression(step.path("compression").asInt(0))
            .metadata(metadata(step))
            .end(end)
            .single(ONE_ANSWER.contains(kind))
            .oneway(kind.equals("oneway"))
            .inline(step.path("inline").asBoolean(false));
    boolean plain =
        kind.equals("unary")
            && end
            && message != null
            && !step.has("compression")
            && !step.has("metadata")
            && !step.has("inline");
    MethodName name = names.computeIfAbsent(method, MethodName::new);
    recorder.opening(label);
    int length = message == null ? 0 : message.length;
    OutgoingCall call;
    try {
      call =
          plain
              ? session.unary(name, message, 0, length, opening.codec, deadline, null)
              : session.open(name, message, 0, length, opening, deadline, null);
    } catch (LimitException e) {
      notSent(label, Code.RESOURCE_EXHAUSTED, e);
      return;
    } catch (IllegalArgumentException e) {
      notSent(label, Code.INVALID_ARGUMENT, e);
      return;
    }
    if (call == null) {
      recorder.add("turned_away", label, null);
    } else {
      recorder.know(label, call);
    }
  }

  private void notSent(String label, Code code, RuntimeException e) {
    ObjectNode end = recorder.add("end", label, null);
    end.put("status", code.number()).put("delivery", "not_sent").put("message", e.getMessage());
  }

  private void send(JsonNode step) {
    Call call = recorder.call(step.get("call").asText());
    byte[] message = Vectors.payload(step);
    int compression = step.path("compression").asInt(0);
    if (call instanceof IncomingCall served) {
      served.send(message, 0, message.length, compression);
      return;
    }
    OutgoingCall own = (OutgoingCall) call;
    try {
      own.send(message, 0, message.length, compression, step.path("end").asBoolean(false));
    } catch (LimitException e) { // as the layer above does
      session.caller.abandon(
          own,
          Session.GAVE_UP,
          Session.localStatus(Code.RESOURCE_EXHAUSTED, e.getMessage(), Delivery.UNKNOWN));
    }
  }

  private void consume(JsonNode step) {
    Call call = recorder.call(step.get("call").asText());
    for (int i = 0; i < step.path("count").asInt(1); i++) {
      Message message =
          call instanceof IncomingCall served
              ? served.takeMessage()
              : ((OutgoingCall) call).takeMessage();
      assertNotNull(message, "nothing to consume");
      recorder.consumed(call);
    }
  }

  // Expectations.

  private void expect(JsonNode step) {
    switch (step.get("expect").asText()) {
      case "sent" -> expectSent(step);
      case "events" -> expectEvents(step);
      case "gauges" -> {
        gauge(step, "running", session.load.running());
        gauge(step, "own_calls", session.ownCalls());
        gauge(step, "served_calls", session.servedCalls() + session.callee.unmoved());
      }
      default -> throw new AssertionError(step.toString());
    }
  }

  private static void gauge(JsonNode step, String name, int value) {
    assertEquals(step.path(name).asInt(value), value, name);
  }

  private void expectSent(JsonNode step) {
    Map<String, Integer> credits = parser.takeCredits();
    if (step.has("pool")) {
      JsonNode bounds = step.get("pool");
      long pooled = parser.pooled;
      String said = pooled + " of the pool";
      assertTrue(bounds.get(0).asLong() <= pooled && pooled <= bounds.get(1).asLong(), said);
    }
    int defines = parser.defines;
    parser.defines = 0;
    Set<String> ignored = ofTransport ? Set.of() : Written.OF_THE_SOCKET;
    List<Written> frames = new ArrayList<>(parser.take());
    frames.removeIf(frame -> ignored.contains(frame.type));
    comparison.compare(frames, step.path("frames"), ignored);
    assertEquals(step.path("defines").asInt(defines), defines, "DEFINE frames");
    for (JsonNode bound : step.path("credit")) {
      String stream = bound.get("stream").asText();
      long granted = parser.granted.getOrDefault(stream, 0L);
      String said = "credit of " + stream + ": " + granted;
      assertTrue(granted >= bound.path("at_least").asLong(0), said);
      assertTrue(granted <= bound.path("at_most").asLong(Long.MAX_VALUE), said);
      int number = credits.getOrDefault(stream, 0);
      assertTrue(number <= bound.path("frames").asInt(Integer.MAX_VALUE), number + " CREDITs");
    }
    List<String> streams = frames.stream().map(frame -> frame.stream).toList();
    for (JsonNode pair : step.path("ahead")) {
      int first = streams.indexOf(pair.get(0).asText());
      int last = streams.lastIndexOf(pair.get(1).asText());
      assertTrue(first >= 0 && first < last, () -> pair + " in " + streams);
    }
  }

  private void expectEvents(JsonNode step) {
    Map<String, List<ScriptRecorder.Told>> actual = new HashMap<>();
    for (ScriptRecorder.Told told : recorder.take()) {
      actual.computeIfAbsent(told.label(), label -> new ArrayList<>()).add(told);
    }
    Map<String, List<JsonNode>> wanted = new HashMap<>();
    for (JsonNode event : step.get("events")) {
      String label = event.path("call").asText("");
      for (int i = 0; i < event.path("times").asInt(1); i++) {
        wanted.computeIfAbsent(Written.later(label, i), l -> new ArrayList<>()).add(event);
      }
    }
    Set<String> labels = new TreeSet<>(actual.keySet());
    labels.addAll(wanted.keySet());
    for (String label : labels) {
      List<ScriptRecorder.Told> got = actual.getOrDefault(label, List.of());
      List<JsonNode> want = wanted.getOrDefault(label, List.of());
      assertEquals(
          want.stream().map(event -> event.get("event").asText()).toList(),
          got.stream().map(told -> told.fields().get("event").asText()).toList(),
          () -> label + ": " + got.stream().map(ScriptRecorder.Told::fields).toList());
      for (int i = 0; i < got.size(); i++) {
        compare(got.get(i), want.get(i));
      }
    }
  }

  private void compare(ScriptRecorder.Told told, JsonNode want) {
    JsonNode got = Vectors.read(told.fields());
    for (var fields = want.fields(); fields.hasNext(); ) {
      var field = fields.next();
      switch (field.getKey()) {
        case "call", "times", "payload", "payload_fill" -> {}
        case "details" ->
            assertEquals(WrittenComparison.details(field.getValue()), got.get("details"));
        case "text" -> {
          String text = got.get("message").asText().toLowerCase(Locale.ROOT);
          for (JsonNode part : field.getValue()) {
            String words = part.asText().toLowerCase(Locale.ROOT);
            assertTrue(text.contains(words), () -> words + " in " + text);
          }
        }
        default ->
            assertEquals(
                field.getValue(), got.get(field.getKey()), () -> field.getKey() + " of " + got);
      }
    }
    String event = want.get("event").asText();
    if (event.equals("start") || event.equals("message")) {
      byte[] payload = Vectors.payload(want);
      if (payload == null) {
        assertNull(told.payload(), () -> "a message with " + got);
      } else {
        assertArrayEquals(payload, told.payload(), () -> "payload of " + got);
      }
    }
  }
}
