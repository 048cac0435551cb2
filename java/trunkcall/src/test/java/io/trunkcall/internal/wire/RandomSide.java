package io.trunkcall.internal.wire;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.trunkcall.Code;
import io.trunkcall.Metadata;
import io.trunkcall.Status;
import java.io.ByteArrayOutputStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;

/** A session and its user, who acts at random or only reads (conformance/peer.md, section 9). */
final class RandomSide extends NoEvents {
  final JsonNode config;
  final JsonNode reader; // null: acts at random
  final Map<String, String> served = new TreeMap<>();
  final List<RandomRecord> records = new ArrayList<>();
  final Session session;
  final Random random = new Random();
  int turn;
  private final RandomActor actor;
  private String failure = "";
  private String text = "";
  private final List<String> away = new ArrayList<>();
  private final Map<String, List<String>> events = new TreeMap<>();
  private long written; // bytes taken that have not left yet

  RandomSide(JsonNode config) {
    this.config = config;
    this.reader = config.get("reader").isNull() ? null : config.get("reader");
    config
        .get("served")
        .fields()
        .forEachRemaining(one -> served.put(one.getKey(), one.getValue().asText()));
    Map<String, ServedMethod> methods = new HashMap<>();
    served.forEach(
        (name, kind) ->
            methods.put(
                name, new ServedMethod(name, RandomRecord.ONE_REQUEST.contains(kind), null)));
    boolean initiator = config.get("initiator").asBoolean();
    session = new Session(this, initiator, 0, configured(config), methods::get);
    actor = new RandomActor(this);
  }

  private static SessionConfig configured(JsonNode config) {
    Map<Integer, String> codecs = new HashMap<>();
    config
        .get("codecs")
        .fields()
        .forEachRemaining(
            one -> codecs.put(Integer.valueOf(one.getKey()), one.getValue().asText()));
    Set<Integer> compressions = new HashSet<>();
    config.get("compressions").forEach(number -> compressions.add(number.asInt()));
    Settings settings =
        Vectors.settings(config).toBuilder().codecs(codecs).compressions(compressions).build();
    return SessionConfig.builder()
        .settings(settings)
        .window(config.get("window").asInt())
        .maxPool(config.get("max_pool").asInt())
        .keepalive(
            config.get("keepalive").asLong() * 1_000,
            config.get("keepalive_answer").asLong() * 1_000)
        .load(new Load(config.get("running").asInt(), 1 << 30))
        .build();
  }

  // The lockstep.

  byte[] round(long now, int phase, byte[] data) {
    random.setSeed(config.get("seed").asLong() * 100_003 + turn);
    session.tick(now);
    left();
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    if (reader == null) {
      receiveCut(data, now, out);
      actor.act(phase);
    } else {
      if (session.initiator()) {
        actor.openAll();
      }
      if (data.length > 0) {
        session.receive(data, 0, data.length, now);
      }
      session.dispatch(session.now());
      actor.read();
    }
    turn++;
    take(out, reader == null && phase == RandomActor.ACTING);
    return out.toByteArray();
  }

  private void receiveCut(byte[] data, long now, ByteArrayOutputStream out) {
    for (int at = 0; at < data.length; ) {
      int size =
          switch (random.nextInt(8)) {
            case 0 -> 1;
            case 1 -> Math.min(data.length - at, 1 + random.nextInt(40));
            case 2 -> 1 + random.nextInt(data.length - at);
            default -> data.length - at;
          };
      session.receive(data, at, size, now);
      at += size;
      if (random.nextBoolean()) {
        session.dispatch(session.now());
        take(out, false);
      }
    }
    session.dispatch(session.now());
  }

  private void take(ByteArrayOutputStream out, boolean hold) {
    while (!hold || random.nextInt(4) != 0) {
      byte[] data = Vectors.take(session);
      if (data.length == 0) {
        return;
      }
      written += data.length;
      out.writeBytes(data);
      if (!hold || random.nextBoolean()) {
        left();
      }
    }
  }

  private void left() {
    session.wrote(written);
    written = 0;
  }

  void end(long now, boolean lost) {
    if (lost) {
      session.lost(now, "lost");
    } else {
      session.endOfStream(now);
    }
  }

  ObjectNode ledger() {
    ObjectNode ledger = Vectors.JSON.createObjectNode();
    ledger.put("failed", failure).put("text", text);
    ArrayNode reasons = ledger.putArray("away");
    away.forEach(reasons::add);
    ArrayNode calls = ledger.putArray("calls");
    records.forEach(record -> calls.add(record.entry()));
    ledger.set("events", Vectors.JSON.valueToTree(events));
    ledger.set("script", Vectors.JSON.valueToTree(actor.script));
    ledger.put("own", session.ownCalls()).put("served", session.servedCalls());
    ledger.put("running", session.load.running()).put("held", session.share.promised);
    ObjectNode pool = ledger.putObject("pool");
    pool.put("send", session.sender.room()).put("receive", session.pool.left);
    pool.put("owed", session.pool.owed()).put("kept", session.pool.kept);
    ledger.put("unsent", session.unsent());
    return ledger.put("drained", session.closed() || session.halfClose());
  }

  RandomRecord know(Call call, boolean own, String method, String kind, boolean oneway) {
    String number = String.valueOf(call.codec());
    String codec = config.get("codecs").path(number).asText(number);
    RandomRecord record = new RandomRecord(call, own, method, kind, codec, oneway);
    call.setUser(record);
    records.add(record);
    return record;
  }

  private void tell(RandomRecord record, String event) {
    if (reader != null) {
      String key = record == null ? "" : String.format("%08x", record.call.id());
      events.computeIfAbsent(key, call -> new ArrayList<>()).add(event);
    }
  }

  // What the session says.

  boolean greeted() {
    return !away.isEmpty();
  }

  @Override
  public void opened() {
    away.add("ready");
    tell(null, "ready");
  }

  @Override
  public void start(IncomingCall call) {
    if (reader == null && !call.oneway() && random.nextInt(40) == 0) {
      Status refused =
          Status.of(Code.FAILED_PRECONDITION, "\u00a7 refused")
              .withRetryAfter(Duration.ofMillis(7));
      call.refuse(refused, Metadata.EMPTY);
      return;
    }
    if (call.oneway()) {
      call.accept();
    }
    String method = call.method().name();
    RandomRecord record = know(call, false, method, served.get(method), call.oneway());
    record.started = true;
    record.metadata = RandomRecord.described(call.metadata(), call.attempt);
    tell(record, "start " + method + " " + call.oneway() + " " + record.metadata);
    byte[] message = call.message();
    if (message != null) {
      record.ended = true;
      RandomRecord.note(record.got, message, call.compression());
      tell(record, RandomRecord.message(message, call.compression()));
    }
  }

  @Override
  public void stopped(IncomingCall call) {
    RandomRecord record = (RandomRecord) call.user();
    record.stopped = true;
    tell(record, "stopped");
  }

  @Override
  public void arrived(IncomingCall call) {
    arrived((Call) call);
  }

  @Override
  public void arrived(OutgoingCall call) {
    arrived((Call) call);
  }

  private void arrived(Call call) {
    RandomRecord record = (RandomRecord) call.user();
    Message message = call.receiving.inbox.stream().skip(record.seen).findFirst().orElseThrow();
    record.seen++;
    tell(record, RandomRecord.message(message.bytes(), message.compression()));
  }

  @Override
  public void halfClosed(IncomingCall call) {
    RandomRecord record = (RandomRecord) call.user();
    record.ended = true;
    tell(record, "half_closed");
  }

  @Override
  public void header(OutgoingCall call, Metadata metadata) {
    RandomRecord record = (RandomRecord) call.user();
    record.early = RandomRecord.described(metadata, 0);
    tell(record, "header " + record.early);
  }

  @Override
  public void ended(OutgoingCall call) {
    RandomRecord record = (RandomRecord) call.user();
    if (record == null) {
      return; // its deadline had passed before it was sent
    }
    if (call.hasMessage()) {
      record.last = new byte[call.length()];
      System.arraycopy(call.array(), call.offset(), record.last, 0, call.length());
      record.lastCompression = call.compression();
      tell(record, RandomRecord.message(record.last, record.lastCompression));
    }
    long attempt = call.trailers == null ? 0 : session.reader.body.attempt;
    ObjectNode end =
        RandomRecord.ending(call.status(), RandomRecord.described(call.trailers(), attempt));
    record.ends++;
    record.ending = end;
    List<String> details = new ArrayList<>();
    end.get("details").forEach(one -> details.add(one.asText()));
    tell(
        record,
        String.format(
            "end %d %s %d [%s] %s %s %b",
            end.get("status").asInt(),
            end.get("delivery").asText(),
            end.get("retry").asLong(),
            end.get("text").asText(),
            String.join(",", details),
            end.get("trailers").asText(),
            end.get("stripped").asBoolean()));
  }

  @Override
  public void goesAway(int reason, String text) {
    away.add(String.valueOf(reason));
    tell(null, "goes away " + reason + " " + text);
  }

  @Override
  public void failed(ErrorClass kind, String text) {
    failure = kind.word();
    this.text = text;
  }
}
