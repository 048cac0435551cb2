package io.trunkcall.internal.transport.http;

import io.trunkcall.internal.wire.Load;
import io.trunkcall.internal.wire.SessionConfig;
import io.trunkcall.internal.wire.Settings;
import java.util.List;
import java.util.Map;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * How a server serves HTTP: with the limits that native connections have.
 *
 * @param events makes who is told of a connection
 * @param session what native connections are configured with
 * @param codecs numbers of codecs by the names that content types have for them
 * @param codecList all codecs, for people
 * @param packs the compressions of answers, in order; null: nothing was said
 * @param origins pages that may read answers; "*": all
 * @param clock the time that limits of time go by, in µs
 * @param tick µs between looks at what takes too long
 */
public record HttpConfig(
    Supplier<HttpEvents> events,
    SessionConfig session,
    Map<String, Integer> codecs,
    String codecList,
    @Nullable List<Integer> packs,
    List<String> origins,
    LongSupplier clock,
    long tick) {
  private static final int LEAST_HEADER = 32 << 10;
  private static final int MOST_HEADER = 16 << 20;
  private static final int ROOM = 4 << 10; // for fields of HTTP itself
  private static final int FIELD_COST = 32; // of a field, beside name and value (RFC 9113 6.5.2)
  private static final int LEAST_FIELDS = 192;
  private static final int FIELD_ROOM = 64;
  private static final int MOST_WINDOW = 32 << 20; // of HTTP/2, on a long path (limits.md 5)

  Settings settings() {
    return session.settings();
  }

  long now() {
    return clock.getAsLong();
  }

  Load load() {
    return session.load();
  }

  /** The longest header, whose binary values are a third longer than natively. */
  int headerBytes() {
    long most =
        4 * settings().maxMetadataBytes() / 3
            + FIELD_COST * Math.min(settings().maxMetadataEntries(), MOST_HEADER)
            + ROOM;
    return (int) Math.min(Math.max(most, LEAST_HEADER), MOST_HEADER);
  }

  /** What a window of HTTP/2 may grow to: no further than native streams may, all together. */
  int mostWindow() {
    return Math.max(Math.min(session.maxPool(), MOST_WINDOW), session.window());
  }

  /** The most fields of a header. */
  int fields() {
    long most = Math.min(settings().maxMetadataEntries(), MOST_HEADER) + FIELD_ROOM;
    return (int) Math.max(most, LEAST_FIELDS);
  }
}
