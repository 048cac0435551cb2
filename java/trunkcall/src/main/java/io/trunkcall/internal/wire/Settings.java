package io.trunkcall.internal.wire;

import java.util.Map;
import java.util.Set;

/**
 * One side's settings: what it accepts to receive (protocol.md 2.3). Sizes are bytes, intervals
 * milliseconds. {@code codecs} are the names of its numbers 8 to 15.
 */
public record Settings(
    int maxFrameBody,
    long maxMessage,
    int maxCalls,
    long maxMetadataBytes,
    long maxMetadataEntries,
    int maxMethods,
    Map<Integer, String> codecs,
    Set<Integer> compressions,
    long keepaliveInterval,
    long minPingInterval,
    int pool) {

  /** The defaults of the protocol. */
  public static final Settings DEFAULTS =
      new Settings(65_536, 67_108_864, 1_024, 16_384, 128, 4_096, Map.of(), Set.of(), 0, 5_000, 0);

  /** Copies the collections. */
  public Settings {
    codecs = Map.copyOf(codecs);
    compressions = Set.copyOf(compressions);
  }

  /** A builder with these values. */
  public Builder toBuilder() {
    return new Builder(this);
  }

  /** Collects settings; what is not given is as in those it was made of. */
  public static final class Builder {
    private int maxFrameBody;
    private long maxMessage;
    private int maxCalls;
    private long maxMetadataBytes;
    private long maxMetadataEntries;
    private int maxMethods;
    private Map<Integer, String> codecs;
    private Set<Integer> compressions;
    private long keepaliveInterval;
    private long minPingInterval;
    private int pool;

    private Builder(Settings from) {
      maxFrameBody = from.maxFrameBody;
      maxMessage = from.maxMessage;
      maxCalls = from.maxCalls;
      maxMetadataBytes = from.maxMetadataBytes;
      maxMetadataEntries = from.maxMetadataEntries;
      maxMethods = from.maxMethods;
      codecs = from.codecs;
      compressions = from.compressions;
      keepaliveInterval = from.keepaliveInterval;
      minPingInterval = from.minPingInterval;
      pool = from.pool;
    }

    /** The longest body of a frame. */
    public Builder maxFrameBody(int bytes) {
      maxFrameBody = bytes;
      return this;
    }

    /** The longest message, as sent and decompressed. */
    public Builder maxMessage(long bytes) {
      maxMessage = bytes;
      return this;
    }

    /** Calls at once. */
    public Builder maxCalls(int calls) {
      maxCalls = calls;
      return this;
    }

    /** The longest block of metadata. */
    public Builder maxMetadataBytes(long bytes) {
      maxMetadataBytes = bytes;
      return this;
    }

    /** The most entries of a block of metadata. */
    public Builder maxMetadataEntries(long entries) {
      maxMetadataEntries = entries;
      return this;
    }

    /** Ids of methods. */
    public Builder maxMethods(int methods) {
      maxMethods = methods;
      return this;
    }

    /** The names of codecs 8 to 15. */
    public Builder codecs(Map<Integer, String> codecs) {
      this.codecs = codecs;
      return this;
    }

    /** The numbers of compressions that are accepted. */
    public Builder compressions(Set<Integer> compressions) {
      this.compressions = compressions;
      return this;
    }

    /** The keepalive interval, for the peer's information. */
    public Builder keepaliveInterval(long milliseconds) {
      keepaliveInterval = milliseconds;
      return this;
    }

    /** The least distance of the peer's PINGs. */
    public Builder minPingInterval(long milliseconds) {
      minPingInterval = milliseconds;
      return this;
    }

    /** The pool that is granted at first. */
    public Builder pool(int bytes) {
      pool = bytes;
      return this;
    }

    /** The settings. */
    public Settings build() {
      return new Settings(
          maxFrameBody,
          maxMessage,
          maxCalls,
          maxMetadataBytes,
          maxMetadataEntries,
          maxMethods,
          codecs,
          compressions,
          keepaliveInterval,
          minPingInterval,
          pool);
    }
  }
}
