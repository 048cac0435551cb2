package io.trunkcall.internal.wire;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.trunkcall.Metadata;
import io.trunkcall.Status;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;

/**
 * Turns what a session says into the events of a script. Messages are told of when they arrive, and
 * consumed when the script says so.
 */
final class ScriptRecorder extends NoEvents {
  /** An event, and the message that it has, if any. */
  record Told(String label, ObjectNode fields, byte[] payload) {}

  private List<Told> events = new ArrayList<>();
  private final Map<String, Call> calls = new HashMap<>();
  private final Map<Call, String> labels = new IdentityHashMap<>();
  private final Map<Call, Integer> seen = new IdentityHashMap<>(); // messages told of
  private final Map<Call, Integer> taken = new IdentityHashMap<>(); // messages consumed
  private String opening; // the label of the call that is being opened

  /** The events since the last time. */
  List<Told> take() {
    List<Told> told = events;
    events = new ArrayList<>();
    return told;
  }

  void opening(String label) {
    opening = label;
  }

  void know(String label, Call call) {
    calls.put(label, call);
    labels.put(call, label);
  }

  Call call(String label) {
    Call call = calls.get(label);
    if (call == null) {
      throw new AssertionError("no call " + label);
    }
    return call;
  }

  void consumed(Call call) {
    taken.merge(call, 1, Integer::sum);
  }

  ObjectNode add(String event, String label, byte[] payload) {
    ObjectNode fields = Vectors.JSON.createObjectNode().put("event", event);
    events.add(new Told(label, fields, payload));
    return fields;
  }

  private ObjectNode add(String event, Call call, byte[] payload) {
    String label = labels.get(call);
    if (label == null) {
      label = call.id() == 0 && opening != null ? opening : Written.stream(call.id());
    }
    return add(event, label, payload);
  }

  @Override
  public void start(IncomingCall call) {
    if (call.oneway()) {
      call.accept();
    }
    know(Written.stream(call.id()), call);
    ObjectNode fields = add("start", call, call.message());
    fields.put("method", call.method().name()).put("oneway", call.oneway());
    if (!call.metadata().isEmpty()) {
      fields.set("metadata", MetadataMeaning.entries(call.metadata()));
    }
  }

  @Override
  public void stopped(IncomingCall call) {
    add("stopped", call, null);
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
    int at = seen.merge(call, 1, Integer::sum) - 1 - taken.getOrDefault(call, 0);
    Message message = call.receiving.inbox.stream().skip(at).findFirst().orElseThrow();
    add("message", call, message.bytes()).put("compression", message.compression());
  }

  @Override
  public void halfClosed(IncomingCall call) {
    add("half_closed", call, null);
  }

  @Override
  public void header(OutgoingCall call, Metadata metadata) {
    add("header", call, null).set("metadata", MetadataMeaning.entries(metadata));
  }

  @Override
  public void ended(OutgoingCall call) {
    if (call.hasMessage()) {
      byte[] message =
          Arrays.copyOfRange(call.array(), call.offset(), call.offset() + call.length());
      add("message", call, message).put("compression", call.compression());
    }
    Status status = call.status();
    ObjectNode fields = add("end", call, null);
    fields.put("status", status.code().number()).put("delivery", status.delivery().word());
    fields.put("message", status.message());
    fields.set("details", MetadataMeaning.details(status.details()));
    fields.put("retry_after", (int) status.retryAfter().toMillis());
    fields.put("stripped", status.stripped());
    if (!call.trailers().isEmpty()) {
      fields.set("metadata", MetadataMeaning.entries(call.trailers()));
    }
  }

  @Override
  public void goesAway(int reason, String text) {
    add("goes_away", "", null).put("reason", reason).put("message", text);
  }

  @Override
  public void failed(ErrorClass kind, String text) {
    add("failed", "", null).put("class", kind.word());
  }
}
