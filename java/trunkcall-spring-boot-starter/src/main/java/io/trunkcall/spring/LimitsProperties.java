package io.trunkcall.spring;

import static io.trunkcall.spring.Property.give;

import io.trunkcall.Limits;
import org.jspecify.annotations.Nullable;
import org.springframework.util.unit.DataSize;

/**
 * What is accepted on each connection (spec/limits.md).
 *
 * @param messageSize Of one message, 64 MB unless it is given.
 * @param calls How many calls the other side may have open, 1024 unless it is given.
 * @param metadataSize Of the metadata of one side of a call, 16 KB unless it is given, which is the
 *     least.
 * @param metadataEntries How many entries that may have, 128 unless it is given, which is the
 *     least.
 * @param window How much of a stream may be unconsumed, 256 KB unless it is given, which is the
 *     least.
 * @param pool What the streams of a connection share beyond their windows, at first, 1 MB unless it
 *     is given.
 * @param maxPool What the pool may grow to on a long path, an eighth of the memory, at most 128 MB,
 *     unless it is given.
 */
public record LimitsProperties(
    @Nullable DataSize messageSize,
    @Nullable Integer calls,
    @Nullable DataSize metadataSize,
    @Nullable Integer metadataEntries,
    @Nullable DataSize window,
    @Nullable DataSize pool,
    @Nullable DataSize maxPool) {
  /** Nothing given. */
  static final LimitsProperties NONE =
      new LimitsProperties(null, null, null, null, null, null, null);

  Limits limits() {
    Limits[] made = {Limits.DEFAULTS};
    give("message-size", messageSize, size -> made[0] = made[0].withMessageBytes(size.toBytes()));
    give("calls", calls, count -> made[0] = made[0].withCalls(count));
    give(
        "metadata-size",
        metadataSize,
        size -> made[0] = made[0].withMetadata(bytes(size), made[0].metadataEntries()));
    give(
        "metadata-entries",
        metadataEntries,
        count -> made[0] = made[0].withMetadata(made[0].metadataBytes(), count));
    give("window", window, size -> made[0] = made[0].withWindow(bytes(size)));
    give("pool", pool, size -> made[0] = made[0].withPool(bytes(size), made[0].maxPool()));
    give("max-pool", maxPool, size -> made[0] = made[0].withPool(made[0].pool(), bytes(size)));
    return made[0];
  }

  private static int bytes(DataSize given) {
    if (given.toBytes() > Integer.MAX_VALUE) {
      throw new IllegalArgumentException(given + " is 2 GB or more");
    }
    return (int) given.toBytes();
  }
}
