package io.trunkcall.internal.transport.http;

import io.trunkcall.internal.wire.Load;
import io.trunkcall.internal.wire.SessionConfig;
import io.trunkcall.internal.wire.Settings;
import java.util.List;
import java.util.Map;
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
 */
public record HttpConfig(
    Supplier<HttpEvents> events,
    SessionConfig session,
    Map<String, Integer> codecs,
    String codecList,
    @Nullable List<Integer> packs,
    List<String> origins) {
  private static final int LEAST_HEADER = 32 << 10;
  private static final int MOST_HEADER = 16 << 20;
  private static final int ROOM = 4 << 10; // for fields of HTTP itself
  private static final int FIELD_COST = 32; // of a field, beside name and value (RFC 9113 6.5.2)
  private static final int LEAST_FIELDS = 192;
  private static final int FIELD_ROOM = 64;

  Settings settings() {
    return session.settings();
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

  /** The most fields of a header. */
  int fields() {
    long most = Math.min(settings().maxMetadataEntries(), MOST_HEADER) + FIELD_ROOM;
    return (int) Math.max(most, LEAST_FIELDS);
  }
}
