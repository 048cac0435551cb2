package io.trunkcall;

/**
 * What a side accepts from its peers; they are told so when a connection begins (spec/limits.md).
 * What begins with {@code with} makes a copy.
 *
 * @param messageBytes of one message
 * @param calls that a peer may have open per connection
 * @param metadataBytes of one side of a call; the default is the least
 * @param metadataEntries likewise
 * @param window bytes of a stream that may be unconsumed; the default is the least
 * @param pool bytes that all streams of a connection share beyond their windows, at first; 0: none
 * @param maxPool what the pool grows to on a long path; it does not grow if this is not above pool.
 *     -1: an eighth of the memory, 128 MiB at most
 */
public record Limits(
    long messageBytes,
    int calls,
    int metadataBytes,
    int metadataEntries,
    int window,
    int pool,
    int maxPool) {
  /** What holds unless something else is said. */
  public static final Limits DEFAULTS =
      new Limits(67_108_864, 1_024, 16_384, 128, 262_144, 1 << 20, -1);

  /** Throws IllegalArgumentException for what is out of its range. */
  public Limits {
    Checks.range("limits.messageBytes", messageBytes, 1, 0x7FFFFFFFL);
    Checks.range("limits.calls", calls, 0, 0xFFFFF);
    Checks.range("limits.metadataBytes", metadataBytes, 16_384, 32_700);
    Checks.range("limits.metadataEntries", metadataEntries, 128, Integer.MAX_VALUE);
    Checks.range("limits.window", window, 262_144, Integer.MAX_VALUE);
    Checks.range("limits.pool", pool, 0, Integer.MAX_VALUE);
    Checks.range("limits.maxPool", maxPool, -1, Integer.MAX_VALUE);
  }

  /** The same with another {@link #messageBytes}. */
  public Limits withMessageBytes(long bytes) {
    return new Limits(bytes, calls, metadataBytes, metadataEntries, window, pool, maxPool);
  }

  /** The same with other {@link #calls}. */
  public Limits withCalls(int most) {
    return new Limits(messageBytes, most, metadataBytes, metadataEntries, window, pool, maxPool);
  }

  /** The same with other limits of metadata. */
  public Limits withMetadata(int bytes, int entries) {
    return new Limits(messageBytes, calls, bytes, entries, window, pool, maxPool);
  }

  /** The same with another {@link #window}. */
  public Limits withWindow(int bytes) {
    return new Limits(messageBytes, calls, metadataBytes, metadataEntries, bytes, pool, maxPool);
  }

  /** The same with another {@link #pool}, which grows to {@code most}. */
  public Limits withPool(int bytes, int most) {
    return new Limits(messageBytes, calls, metadataBytes, metadataEntries, window, bytes, most);
  }
}
