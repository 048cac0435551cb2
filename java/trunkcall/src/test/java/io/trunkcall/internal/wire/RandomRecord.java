package io.trunkcall.internal.wire;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.trunkcall.Metadata;
import io.trunkcall.Status;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.zip.CRC32;

/** One call at one of its ends, as the ledger of conformance/peer.md, section 9, tells it. */
final class RandomRecord {
  static final Set<String> ONE_REQUEST = Set.of("unary", "server_streaming", "oneway");
  static final Set<String> ONE_ANSWER = Set.of("unary", "client_streaming");

  final Call call;
  final boolean own;
  final String method;
  final String kind;
  final String codec;
  final boolean oneway;
  String metadata = "";
  String early = "";
  final ArrayNode sent = Vectors.JSON.createArrayNode();
  final ArrayNode got = Vectors.JSON.createArrayNode();
  boolean ended;
  boolean started;
  boolean returned;
  boolean stopped;
  int ends;
  ObjectNode ending;
  int seen; // messages told of, of those in the inbox
  byte[] last; // that came with RESULT and was not consumed
  int lastCompression;

  RandomRecord(Call call, boolean own, String method, String kind, String codec, boolean oneway) {
    this.call = call;
    this.own = own;
    this.method = method;
    this.kind = kind;
    this.codec = codec;
    this.oneway = oneway;
  }

  static long sum(byte[] message) {
    CRC32 sum = new CRC32();
    sum.update(message);
    return sum.getValue();
  }

  static void note(ArrayNode list, byte[] message, int compression) {
    list.addObject()
        .put("size", message.length)
        .put("sum", sum(message))
        .put("compression", compression);
  }

  static String message(byte[] message, int compression) {
    return "message " + message.length + " " + sum(message) + " " + compression;
  }

  /** Metadata as text, entries of the protocol behind those of users. */
  static String described(Metadata metadata, long attempt) {
    List<String> parts = new ArrayList<>();
    for (Metadata.Entry entry : metadata.entries()) {
      String text = entry.text();
      byte[] value = text == null ? entry.bytes() : text.getBytes(ISO_8859_1);
      parts.add(entry.key() + "=" + Vectors.hex(value));
    }
    if (attempt != 0) {
      parts.add("!attempt=" + attempt);
    }
    return String.join(",", parts);
  }

  static ObjectNode ending(Status status, String trailers) {
    ObjectNode ending = Vectors.JSON.createObjectNode();
    ending.put("status", status.code().number()).put("delivery", status.delivery().word());
    ending.put("retry", status.retryAfter().toMillis()).put("text", status.message());
    ArrayNode details = ending.putArray("details");
    for (Status.Detail detail : status.details()) {
      details.add(detail.typeUrl() + "=" + Vectors.hex(detail.value()));
    }
    return ending.put("trailers", trailers).put("stripped", status.stripped());
  }

  boolean open() {
    return !call.over();
  }

  /** Whether it is a handler's that has not returned. */
  boolean running() {
    return !own && !returned;
  }

  int unread() {
    ReceiveFlow flow = call.receiving;
    return (flow == null ? 0 : flow.waiting()) + (last == null ? 0 : 1);
  }

  void consume() {
    Message message =
        call instanceof OutgoingCall mine
            ? mine.takeMessage()
            : ((IncomingCall) call).takeMessage();
    if (message != null) {
      seen--;
      note(got, message.bytes(), message.compression());
    } else if (last != null) {
      note(got, last, lastCompression);
      last = null;
    }
  }

  /** What the ledger tells of the call. */
  ObjectNode entry() {
    ObjectNode told = Vectors.JSON.createObjectNode();
    told.put("id", call.id() & 0xFFFFFFFFL).put("own", own).put("method", method);
    told.put("kind", kind).put("codec", codec).put("oneway", oneway);
    told.put("metadata", metadata).put("early", early);
    told.set("sent", sent);
    told.set("got", got);
    told.put("ended", ended).put("started", started).put("returned", returned);
    told.put("stopped", stopped).put("ends", ends);
    told.set("ending", ending);
    told.put("open", open()).putNull("windows");
    SendFlow sending = call.sending;
    ReceiveFlow receiving = call.receiving;
    if (open()) {
      Session session = call.session();
      int spent = call instanceof OutgoingCall mine ? mine.spent : 0;
      ObjectNode windows = told.putObject("windows");
      windows.put("send", sending == null ? session.peerWindow - spent : sending.window);
      windows.put("receive", receiving == null ? session.window : receiving.window);
      windows.put("owed", receiving == null ? 0 : receiving.owed);
      windows.put("kept", receiving == null ? session.window : receiving.keep);
    }
    told.put("waits", sending != null && !sending.outbox.isEmpty());
    return told.put("unread", unread());
  }
}
