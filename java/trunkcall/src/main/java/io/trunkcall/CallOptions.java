package io.trunkcall;

import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** What a single call may say of itself. Never changes; what begins with {@code with} is a copy. */
public final class CallOptions {
  private static final int UNSAID = -1; // of the codec

  /** Nothing: all is as the policies and the client say. */
  public static final CallOptions NONE =
      new CallOptions(0, Metadata.EMPTY, null, null, 0, UNSAID, null);

  /** What stands for a time that has passed before the call began. */
  static final long PAST = -1;

  /** What stands for no timeout, in µs. */
  static final long ENDLESS = Long.MAX_VALUE;

  /** The same, unless a policy file says one. */
  static final long AS_FILE_SAYS = ENDLESS - 1;

  private final long timeout; // µs, 0: as the policy says
  private final Metadata metadata;
  private final @Nullable Boolean waitForReady;
  private final @Nullable List<Compression> compression;
  private final int maxReceive; // 0: nothing was said
  private final int codec;
  private final @Nullable Priority priority;

  private CallOptions(
      long timeout,
      Metadata metadata,
      @Nullable Boolean waitForReady,
      @Nullable List<Compression> compression,
      int maxReceive,
      int codec,
      @Nullable Priority priority) {
    this.timeout = timeout;
    this.metadata = metadata;
    this.waitForReady = waitForReady;
    this.compression = compression;
    this.maxReceive = maxReceive;
    this.codec = codec;
    this.priority = priority;
  }

  /**
   * The call ends after this time at the latest; one that has none left is not sent. Within a
   * handler the handler's own deadline counts as well.
   */
  public CallOptions withTimeout(Duration timeout) {
    boolean left = !timeout.isZero() && !timeout.isNegative();
    long micros = left ? Checks.timeoutMicros("timeout", timeout) : PAST;
    return new CallOptions(
        micros, metadata, waitForReady, compression, maxReceive, codec, priority);
  }

  /** No timeout, whatever the policy says. */
  public CallOptions withoutTimeout() {
    return new CallOptions(
        ENDLESS, metadata, waitForReady, compression, maxReceive, codec, priority);
  }

  /**
   * No timeout of the client's options, of which its policies are one; that of a policy file holds.
   */
  public CallOptions withoutDefaultTimeout() {
    return new CallOptions(
        AS_FILE_SAYS, metadata, waitForReady, compression, maxReceive, codec, priority);
  }

  /** What goes with the request, in place of what was given before. */
  public CallOptions withMetadata(Metadata metadata) {
    Objects.requireNonNull(metadata, "metadata");
    return new CallOptions(
        timeout, metadata, waitForReady, compression, maxReceive, codec, priority);
  }

  /**
   * Whether the call waits for a connection until its deadline, instead of failing when none can be
   * opened.
   */
  public CallOptions withWaitForReady(boolean waitForReady) {
    return new CallOptions(
        timeout, metadata, waitForReady, compression, maxReceive, codec, priority);
  }

  /**
   * What requests are compressed with, see {@link SideBuilder#compression}: the first of these that
   * the server accepts; with none, never.
   *
   * @throws IllegalArgumentException for one that is neither gzip nor zstd by its number
   */
  public CallOptions withCompression(Compression... inOrder) {
    List<Compression> checked = Packing.checked("compression", inOrder);
    return new CallOptions(timeout, metadata, waitForReady, checked, maxReceive, codec, priority);
  }

  /**
   * A longer answer, in bytes, decompressed too, ends the call RESOURCE_EXHAUSTED, as does a longer
   * message of a stream. What the client's limits allow bounds it as well.
   *
   * @throws IllegalArgumentException for less than 1
   */
  public CallOptions withMaxReceive(int bytes) {
    int most = Checks.count("maxReceive", bytes, 1);
    return new CallOptions(timeout, metadata, waitForReady, compression, most, codec, priority);
  }

  /**
   * Has the messages of the call travel in the codec of this number, such as {@link Codec#JSON}, in
   * place of the method's own. The call throws IllegalArgumentException if its messages have no
   * form in it. A codec from 8 to 15 must be among the client's ({@link SideBuilder#codec}).
   *
   * @throws IllegalArgumentException for what is no number of a codec, 0 to 15
   */
  public CallOptions withCodec(int number) {
    int checked = (int) Checks.range("codec", number, 0, 15);
    return new CallOptions(
        timeout, metadata, waitForReady, compression, maxReceive, checked, priority);
  }

  /**
   * How much the call matters, in place of what a policy file says. Without either, a client with a
   * policy file gives its call the priority of the call in whose handler it is made.
   */
  public CallOptions withPriority(Priority priority) {
    Objects.requireNonNull(priority, "priority");
    return new CallOptions(
        timeout, metadata, waitForReady, compression, maxReceive, codec, priority);
  }

  /** The timeout; null: as the policy says, or none. */
  public @Nullable Duration timeout() {
    if (timeout == 0 || timeout >= AS_FILE_SAYS) {
      return null;
    }
    return timeout == PAST ? Duration.ZERO : Duration.of(timeout, ChronoUnit.MICROS);
  }

  /** Whether a timeout was given, or that there is none. */
  public boolean saysTimeout() {
    return timeout != 0;
  }

  /** What goes with the request. */
  public Metadata metadata() {
    return metadata;
  }

  /** Whether the call waits for a connection; null: as its policy says, else it fails. */
  public @Nullable Boolean waitForReady() {
    return waitForReady;
  }

  /** What requests are compressed with, in order; null: as the client says. */
  public @Nullable List<Compression> compression() {
    return compression;
  }

  /** How long an answer may be, in bytes; 0: as the client's limits say. */
  public int maxReceive() {
    return maxReceive;
  }

  /** The number of the codec of the call's messages; -1: the method's own. */
  public int codec() {
    return codec;
  }

  /** How much the call matters; null: as its policy says. */
  public @Nullable Priority priority() {
    return priority;
  }

  long timeoutMicros() {
    return timeout;
  }
}
