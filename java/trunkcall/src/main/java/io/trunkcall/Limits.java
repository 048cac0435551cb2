package io.trunkcall;

import java.time.Duration;

/**
 * What a side accepts from its peers; they are told so when a connection begins (spec/limits.md).
 * What begins with {@code with} makes a copy.
 *
 * @param frameBytes of the body of a frame; the default is the least. What has come of a frame lies
 *     in memory beside what counts against the limit of that
 * @param messageBytes of one message
 * @param calls that a peer may have open per connection
 * @param metadataBytes of one side of a call; the default is the least, and less than half of
 *     frameBytes the most
 * @param metadataEntries likewise; the default is the least
 * @param methods names of methods that a peer may give numbers; the default is the least
 * @param window bytes of a stream that may be unconsumed; the default is the least
 * @param pool bytes that all streams of a connection share beyond their windows, at first; 0: none
 * @param maxPool what the pool grows to on a long path; it does not grow if this is not above pool.
 *     -1: an eighth of the memory, 128 MiB at most
 * @param pingInterval the least time that peers must leave between two PINGs; zero: none
 */
public record Limits(
    int frameBytes,
    long messageBytes,
    int calls,
    int metadataBytes,
    int metadataEntries,
    int methods,
    int window,
    int pool,
    int maxPool,
    Duration pingInterval) {
  /** What holds unless something else is said. */
  public static final Limits DEFAULTS =
      new Limits(
          65_536,
          67_108_864,
          1_024,
          16_384,
          128,
          4_096,
          262_144,
          1 << 20,
          -1,
          Duration.ofSeconds(5));

  /** Throws IllegalArgumentException for what is out of its range. */
  public Limits {
    Checks.range("limits.frameBytes", frameBytes, 65_536, 0xFFFFFF);
    Checks.range("limits.messageBytes", messageBytes, 1, 0x7FFFFFFFL);
    Checks.range("limits.calls", calls, 0, 0xFFFFF);
    Checks.range("limits.metadataBytes", metadataBytes, 16_384, (frameBytes - 1) / 2);
    Checks.range("limits.metadataEntries", metadataEntries, 128, Integer.MAX_VALUE);
    Checks.range("limits.methods", methods, 4_096, 0xFFFF);
    Checks.range("limits.window", window, 262_144, Integer.MAX_VALUE);
    Checks.range("limits.pool", pool, 0, Integer.MAX_VALUE);
    Checks.range("limits.maxPool", maxPool, -1, Integer.MAX_VALUE);
    long most = 0xFFFFFFFFL * 1_000; // µs: it is told in milliseconds, of 32 bits
    if (Checks.micros("limits.pingInterval", pingInterval) > most) {
      throw new IllegalArgumentException(
          "option limits.pingInterval: " + pingInterval + " was given, want 49 days at most");
    }
  }

  /** The same with another {@link #frameBytes}. */
  public Limits withFrameBytes(int bytes) {
    return new Limits(
        bytes,
        messageBytes,
        calls,
        metadataBytes,
        metadataEntries,
        methods,
        window,
        pool,
        maxPool,
        pingInterval);
  }

  /** The same with another {@link #messageBytes}. */
  public Limits withMessageBytes(long bytes) {
    return new Limits(
        frameBytes,
        bytes,
        calls,
        metadataBytes,
        metadataEntries,
        methods,
        window,
        pool,
        maxPool,
        pingInterval);
  }

  /** The same with other {@link #calls}. */
  public Limits withCalls(int most) {
    return new Limits(
        frameBytes,
        messageBytes,
        most,
        metadataBytes,
        metadataEntries,
        methods,
        window,
        pool,
        maxPool,
        pingInterval);
  }

  /** The same with other limits of metadata. */
  public Limits withMetadata(int bytes, int entries) {
    return new Limits(
        frameBytes,
        messageBytes,
        calls,
        bytes,
        entries,
        methods,
        window,
        pool,
        maxPool,
        pingInterval);
  }

  /** The same with other {@link #methods}. */
  public Limits withMethods(int most) {
    return new Limits(
        frameBytes,
        messageBytes,
        calls,
        metadataBytes,
        metadataEntries,
        most,
        window,
        pool,
        maxPool,
        pingInterval);
  }

  /** The same with another {@link #window}. */
  public Limits withWindow(int bytes) {
    return new Limits(
        frameBytes,
        messageBytes,
        calls,
        metadataBytes,
        metadataEntries,
        methods,
        bytes,
        pool,
        maxPool,
        pingInterval);
  }

  /** The same with another {@link #pool}, which grows to {@code most}. */
  public Limits withPool(int bytes, int most) {
    return new Limits(
        frameBytes,
        messageBytes,
        calls,
        metadataBytes,
        metadataEntries,
        methods,
        window,
        bytes,
        most,
        pingInterval);
  }

  /** The same with another {@link #pingInterval}. */
  public Limits withPingInterval(Duration least) {
    return new Limits(
        frameBytes,
        messageBytes,
        calls,
        metadataBytes,
        metadataEntries,
        methods,
        window,
        pool,
        maxPool,
        least);
  }
}
