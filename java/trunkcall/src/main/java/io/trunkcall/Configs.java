package io.trunkcall;

import io.trunkcall.internal.wire.Load;
import io.trunkcall.internal.wire.SessionConfig;
import io.trunkcall.internal.wire.Settings;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** How sessions are configured, from what clients and servers are given. */
final class Configs {
  static final int WAITING_CALLS = 4_096;
  static final int RUNNING_HANDLERS = 16_384;
  static final Duration CLIENT_KEEPALIVE = Duration.ofSeconds(20);
  static final Duration SERVER_KEEPALIVE = Duration.ofSeconds(60);
  static final Duration KEEPALIVE_TIMEOUT = Duration.ofSeconds(20);
  static final Duration DRAIN_GRACE = Duration.ofSeconds(30);

  private static final long LEAST_MEMORY = 1 << 20;
  private static final long MOST_MEMORY = 1 << 30;
  private static final int MOST_POOL = 128 << 20;
  private static final int FIRST_NAMED = 8; // codecs from here on are users' own

  private Configs() {}

  /** A quarter of what the heap may grow to, at most 1 GiB: messages lie in the heap. */
  static long defaultMemory() {
    return Math.max(LEAST_MEMORY, Math.min(MOST_MEMORY, Runtime.getRuntime().maxMemory() / 4));
  }

  static long memory(long given) {
    return Checks.range("memory", given, LEAST_MEMORY, Long.MAX_VALUE);
  }

  /** Names of codecs that users bring, by number; adds one. */
  static void add(Map<Integer, String> named, Codec<?> codec) {
    int number = codec.number();
    if ((number < FIRST_NAMED || number > 15) && number != Codec.CAPNP) {
      throw new IllegalArgumentException(
          "option codec: "
              + codec.name()
              + " has number "
              + number
              + ", want 8 to 15, or 4 for Cap'n Proto");
    }
    String before = named.putIfAbsent(number, codec.name());
    if (before != null && !before.equals(codec.name())) {
      throw new IllegalArgumentException(
          "option codec: " + before + " and " + codec.name() + " both have number " + number);
    }
  }

  static SessionConfig of(
      Limits limits,
      Map<Integer, String> named,
      Duration keepalive,
      Duration keepaliveTimeout,
      Load load,
      long memory,
      List<Compression> accepted) {
    long interval = Checks.micros("keepalive", keepalive);
    long answer = Checks.micros("keepaliveTimeout", keepaliveTimeout);
    if (interval > 0 && answer == 0) {
      throw new IllegalArgumentException(
          "option keepaliveTimeout: PT0S was given, want a time above 0");
    }
    int maxPool = limits.maxPool() >= 0 ? limits.maxPool() : (int) Math.min(MOST_POOL, memory / 8);
    Map<Integer, String> own = new HashMap<>(named);
    boolean capnp = own.remove(Codec.CAPNP) != null; // both sides know it by its number
    Settings settings =
        Settings.DEFAULTS.toBuilder()
            .maxFrameBody(limits.frameBytes())
            .maxMessage(limits.messageBytes())
            .maxCalls(limits.calls())
            .maxMetadataBytes(limits.metadataBytes())
            .maxMetadataEntries(limits.metadataEntries())
            .maxMethods(limits.methods())
            .codecs(own)
            .compressions(Packing.numbers(accepted))
            .keepaliveInterval(Math.min(interval / 1_000, 0xFFFFFFFFL))
            .minPingInterval(limits.pingInterval().plusNanos(999_999).toMillis())
            .pool(limits.pool())
            .build();
    StringBuilder list = new StringBuilder("0 (raw), 1 (protobuf), 2 (json), 3 (msgpack)");
    named.forEach((number, name) -> list.append(", ").append(number).append(" (" + name + ")"));
    return SessionConfig.builder()
        .settings(settings)
        .window(limits.window())
        .maxPool(maxPool)
        .codecs(capnp ? new int[] {0, 1, 2, 3, Codec.CAPNP} : new int[] {0, 1, 2, 3})
        .codecList(list.toString())
        .keepalive(interval, answer)
        .load(load)
        .build();
  }
}
