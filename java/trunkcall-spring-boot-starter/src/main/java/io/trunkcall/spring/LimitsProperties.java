package io.trunkcall.spring;

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
    Limits usual = Limits.DEFAULTS;
    return usual
        .withMessageBytes(messageSize == null ? usual.messageBytes() : messageSize.toBytes())
        .withCalls(calls == null ? usual.calls() : calls)
        .withMetadata(
            bytes("metadata-size", metadataSize, usual.metadataBytes()),
            metadataEntries == null ? usual.metadataEntries() : metadataEntries)
        .withWindow(bytes("window", window, usual.window()))
        .withPool(bytes("pool", pool, usual.pool()), bytes("max-pool", maxPool, usual.maxPool()));
  }

  private static int bytes(String name, @Nullable DataSize given, int usual) {
    if (given == null) {
      return usual;
    }
    if (given.toBytes() > Integer.MAX_VALUE) {
      throw new IllegalArgumentException("limits." + name + ": " + given + " is 2 GB or more");
    }
    return (int) given.toBytes();
  }
}
