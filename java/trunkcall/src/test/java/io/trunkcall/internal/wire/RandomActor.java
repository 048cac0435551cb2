package io.trunkcall.internal.wire;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.trunkcall.Code;
import io.trunkcall.Metadata;
import io.trunkcall.Status;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Predicate;

/** What the user of a session does at random, and what one who only reads does. */
final class RandomActor {
  // Phases of a session: acts at random; consumes what is there; ends all calls; asks to drain.
  static final int ACTING = 0;
  static final int FINISHING = 2;
  static final int DRAINING = 3;

  private static final byte[] PATTERN = new byte[2 << 20]; // what messages are cut from

  static {
    new Random(1).nextBytes(PATTERN);
  }

  // Sizes at which something changes: frames, pieces, the least window.
  private static final int[] EDGES = {
    0, 1, 15, 16, 17, 16_384, 65_503, 65_504, 65_519, 65_520, 65_521, 65_535, 65_536, 65_537,
    65_552, 65_553, 131_056, 131_072, 262_127, 262_128, 262_129, 262_144, 327_680
  };
  private static final String[] KEYS = {
    "traceparent",
    "user-agent",
    "cookie",
    "a",
    "x-binary-bin",
    "-bin",
    "some.key_with-all",
    "k".repeat(255)
  };
  private static final String[] KINDS = {"unary", "client_streaming", "server_streaming", "bidi"};

  /** A message, its compression, and whether the peer takes it. */
  private record Sent(byte[] bytes, int compression, boolean fits) {}

  private final RandomSide side;
  private final Session session;
  private final Random random;
  private final Map<String, MethodName> names = new HashMap<>();
  private final Set<Integer> rounds = new HashSet<>();
  private final boolean always;
  private boolean opened;
  final List<String> script = new ArrayList<>(); // what was done, in words

  RandomActor(RandomSide side) {
    this.side = side;
    this.session = side.session;
    this.random = side.random;
    JsonNode some = side.config.get("rounds");
    this.always = some.isNull();
    some.forEach(round -> rounds.add(round.asInt()));
  }

  private int chance(int of) {
    return random.nextInt(of);
  }

  private void note(String text) {
    script.add(side.turn + ": " + text);
  }

  void act(int phase) {
    if (phase == ACTING) {
      if (always || rounds.contains(side.turn)) {
        for (int left = chance(5); left > 0; left--) {
          actAtRandom();
        }
      }
      return;
    }
    if (phase == FINISHING) {
      for (RandomRecord record : List.copyOf(side.records)) {
        if (record.own && !record.ended && record.open()) {
          halfClose(record);
        } else if (record.running()) {
          answer(record);
        }
      }
    } else if (phase == DRAINING) {
      session.drain(session.now(), false);
    }
    consumeAll();
  }

  private void actAtRandom() {
    JsonNode weights = side.config.get("weights");
    int sum = 0;
    for (JsonNode one : weights) {
      sum += one.get("weight").asInt();
    }
    if (sum == 0) {
      return;
    }
    int at = chance(sum);
    for (JsonNode one : weights) {
      at -= one.get("weight").asInt();
      if (at < 0) {
        act(one.get("action").asText());
        return;
      }
    }
  }

  private void act(String action) {
    switch (action) {
      case "open" -> open();
      case "send" -> with(this::canSend, this::send);
      case "half_close" ->
          with(one -> one.own && !one.ended && one.open() && !one.oneway, this::halfClose);
      case "cancel" ->
          with(
              one -> one.own && one.ends == 0,
              one -> {
                note(String.format("cancel %08x", one.call.id()));
                ((OutgoingCall) one.call).cancel(Session.GAVE_UP);
              });
      case "consume" ->
          with(
              one -> one.unread() > 0 && (one.own || one.running()),
              one -> {
                int count = 1 + chance(one.unread());
                note(String.format("consume %08x, %d messages", one.call.id(), count));
                for (int i = 0; i < count; i++) {
                  one.consume();
                }
              });
      case "header" -> with(RandomActor::canSayMore, this::header);
      case "answer" -> with(RandomRecord::running, this::answer);
      case "drain" -> {
        note("drain");
        session.drain(session.now(), false);
      }
      default -> throw new IllegalArgumentException(action);
    }
  }

  private void with(Predicate<RandomRecord> able, Consumer<RandomRecord> what) {
    List<RandomRecord> found = side.records.stream().filter(able).toList();
    if (!found.isEmpty()) {
      what.accept(found.get(chance(found.size())));
    }
  }

  private void consumeAll() {
    for (RandomRecord record : side.records) {
      while (record.unread() > 0 && (record.own || record.running())) {
        record.consume();
      }
    }
  }

  /** What a user does who only reads, once the input was taken in. */
  void read() {
    openAll();
    if (side.reader.get("consumes").asBoolean()) {
      consumeAll();
    }
  }

  /** Opens a reader's calls: an initiator's at once, an acceptor's when it has the preface. */
  void openAll() {
    if (opened || !(session.initiator() || side.greeted())) {
      return;
    }
    opened = true;
    for (JsonNode one : side.reader.get("opens")) {
      String kind = one.get("kind").asText();
      byte[] message =
          RandomRecord.ONE_REQUEST.contains(kind)
              ? Arrays.copyOf(PATTERN, one.get("size").asInt())
              : null;
      if (message != null && message.length > session.peer().maxMessage()) {
        continue; // a mutation of the preface made it so
      }
      long time = one.get("deadline").asLong();
      Opening opening = new Opening().end(message != null).inline(one.get("inline").asBoolean());
      long deadline = time == 0 ? 0 : session.now() + time;
      begin(one.get("method").asText(), kind, message, opening, deadline);
    }
  }

  // Opening.

  private void open() {
    List<String> known = List.copyOf(side.served.keySet());
    String method = chance(30) > 0 ? known.get(chance(known.size())) : "/nobody.Serves/This";
    String kind = side.served.getOrDefault(method, "");
    if (kind.isEmpty() || chance(30) == 0) {
      kind = KINDS[chance(KINDS.length)];
    }
    boolean one = RandomRecord.ONE_REQUEST.contains(kind);
    Sent sent = message();
    Metadata metadata = metadata();
    boolean end = one || chance(5) == 0;
    boolean has = one || chance(3) == 0;
    if (kind.equals("server_streaming") && chance(4) == 0) {
      has = end = false; // the message comes later
    }
    List<Integer> codecs = new ArrayList<>(List.of(0, 1, 1, 1, 2, 3, 4));
    side.config
        .get("codecs")
        .fieldNames()
        .forEachRemaining(number -> codecs.add(Integer.valueOf(number)));
    long deadline = chance(4) > 0 ? 0 : session.now() + 1 + chance(2_000_000);
    Opening opening =
        new Opening()
            .codec(codecs.get(chance(codecs.size())))
            .compression(has ? sent.compression : 0)
            .metadata(metadata)
            .end(end)
            .inline(chance(6) == 0);
    if (!metadata.isEmpty() && chance(3) > 0) {
      opening.attempt(1 + chance(300));
    }
    if (!has || sent.fits) {
      begin(method, kind, has ? sent.bytes : null, opening, deadline);
    }
  }

  private void begin(String method, String kind, byte[] message, Opening how, long deadline) {
    MethodName name = names.computeIfAbsent(method, MethodName::new);
    how.single(RandomRecord.ONE_ANSWER.contains(kind)).oneway(kind.equals("oneway"));
    boolean plain =
        kind.equals("unary")
            && message != null
            && how.end
            && how.compression == 0
            && how.metadata.isEmpty()
            && how.attempt == 0
            && !how.inline
            && chance(2) == 0;
    int size = message == null ? 0 : message.length;
    OutgoingCall call =
        plain
            ? session.unary(name, message, 0, size, how.codec, deadline, null)
            : session.open(name, message, 0, size, how, deadline, null);
    if (call == null || call.status() != null) {
      return;
    }
    RandomRecord record = side.know(call, true, method, kind, how.oneway);
    record.metadata = RandomRecord.described(how.metadata, how.attempt);
    record.ended = how.end;
    if (message != null) {
      RandomRecord.note(record.sent, message, how.compression);
    }
    note(
        String.format(
            "open %08x: %s as %s, %d bytes (%b), end %b, deadline %d, inline %b, codec %d",
            call.id(),
            method,
            kind,
            size,
            message != null,
            how.end,
            deadline,
            how.inline,
            how.codec));
  }

  // On open calls.

  private boolean canSend(RandomRecord one) {
    if (one.oneway || !one.open()) {
      return false;
    }
    if (one.own) {
      boolean single = RandomRecord.ONE_REQUEST.contains(one.kind);
      return !one.ended && !(single && !one.sent.isEmpty());
    }
    return one.running() && !one.stopped && !RandomRecord.ONE_ANSWER.contains(one.kind);
  }

  private void send(RandomRecord one) {
    Sent sent = message();
    if (!sent.fits) {
      return;
    }
    RandomRecord.note(one.sent, sent.bytes, sent.compression);
    boolean end = false;
    if (one.call instanceof OutgoingCall own) {
      end = chance(4) == 0;
      one.ended = end;
      own.send(sent.bytes, 0, sent.bytes.length, sent.compression, end);
    } else {
      ((IncomingCall) one.call).send(sent.bytes, 0, sent.bytes.length, sent.compression);
    }
    note(String.format("send %08x, %d bytes, end %b", one.call.id(), sent.bytes.length, end));
  }

  private void halfClose(RandomRecord one) {
    note(String.format("half-close %08x", one.call.id()));
    one.ended = true;
    ((OutgoingCall) one.call).halfClose();
  }

  private static boolean canSayMore(RandomRecord one) {
    boolean quiet = one.early.isEmpty() && one.sent.isEmpty() && !one.oneway;
    return one.running() && one.open() && quiet;
  }

  private void header(RandomRecord one) {
    Metadata metadata = metadata();
    if (!metadata.isEmpty()) {
      note(String.format("header %08x", one.call.id()));
      one.early = RandomRecord.described(metadata, 0);
      ((IncomingCall) one.call).sendMetadata(metadata);
    }
  }

  private void answer(RandomRecord one) {
    IncomingCall call = (IncomingCall) one.call;
    Metadata metadata = metadata();
    Status status = Status.OK;
    Sent sent = null;
    if (chance(5) == 0) {
      status = failure();
    } else if (RandomRecord.ONE_ANSWER.contains(one.kind) != (chance(25) == 0) || chance(3) == 0) {
      sent = message();
      if (!sent.fits || one.oneway) {
        sent = null;
      }
    }
    if (sent != null) {
      RandomRecord.note(one.sent, sent.bytes, sent.compression);
    }
    one.returned = true;
    ObjectNode said = RandomRecord.ending(status, RandomRecord.described(metadata, 0));
    said.remove("delivery");
    one.ending = said;
    note(String.format("answer %08x: %s, message %b", call.id(), status.code(), sent != null));
    if (sent != null) {
      call.finish(sent.bytes, 0, sent.bytes.length, sent.compression, metadata);
    } else {
      call.finish(status, metadata);
    }
  }

  // What is sent.

  private Status failure() {
    StringBuilder text = new StringBuilder("\u00a7").append("\u00e9".repeat(chance(20)));
    List<Status.Detail> details = new ArrayList<>();
    for (int left = chance(3); left > 0; left--) {
      int size = chance(20) > 0 ? chance(60) : 66_000;
      details.add(new Status.Detail("t/\u00fc", Arrays.copyOf(PATTERN, size)));
    }
    if (chance(40) == 0) {
      text.append("a\u00e9\u20ac".repeat(12_000));
    }
    return Status.of(Code.of(1 + chance(16)), text.toString()).withDetails(details);
  }

  private Sent message() {
    boolean heavy = side.config.get("heavy").asBoolean();
    int size = chance(1_200);
    int k = chance(100);
    if (k < 10) {
      size = chance(18);
    } else if (k < 12 || (heavy && k < 40)) {
      size = EDGES[chance(EDGES.length)];
    } else if (heavy && k < 45) {
      size = chance(700_000);
    }
    int at = chance(PATTERN.length - size);
    int number = 1 + chance(8);
    boolean listed = size > 0 && session.peer().compressions().contains(number);
    byte[] bytes = Arrays.copyOfRange(PATTERN, at, at + size);
    return new Sent(bytes, listed ? number : 0, size <= session.peer().maxMessage());
  }

  /** Entries of every sort that the peer takes, perhaps none. */
  private Metadata metadata() {
    if (chance(3) > 0) {
      return Metadata.EMPTY;
    }
    Metadata.Builder metadata = Metadata.builder();
    for (int left = chance(30) > 0 ? chance(5) : 126 + chance(4); left > 0; left--) {
      String key = KEYS[chance(KEYS.length)];
      String value = chance(200) > 0 ? "~ v".repeat(chance(12)) : "x".repeat(16_000 + chance(500));
      if (key.endsWith("-bin")) {
        metadata.add(key, Arrays.copyOf(PATTERN, value.length()));
      } else {
        metadata.add(key, value);
      }
    }
    Metadata made = metadata.build();
    try {
      MetadataBlock.write(made, 300, session.peer());
    } catch (LimitException tooMuch) {
      return Metadata.EMPTY;
    }
    return made;
  }
}
