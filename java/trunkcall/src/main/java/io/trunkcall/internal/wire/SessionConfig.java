package io.trunkcall.internal.wire;

/** What a side of a connection is configured with. Times are in µs. */
public final class SessionConfig {
  final Settings settings;
  final int window;
  final int maxPool;
  final int codecs; // a bit for each fixed number
  final String codecList;
  final long keepalive;
  final long keepaliveAnswer;
  final boolean exact;
  final long incompleteBytes;
  final Load load;

  private SessionConfig(Builder builder) {
    settings = builder.settings;
    window = builder.window;
    maxPool = builder.maxPool;
    codecs = builder.codecs;
    codecList = builder.codecList;
    keepalive = builder.keepalive;
    keepaliveAnswer = builder.keepaliveAnswer;
    exact = builder.exact;
    incompleteBytes = builder.incompleteBytes;
    load = builder.load;
  }

  /** A builder with the defaults: of the protocol, and of limits.md for a client. */
  public static Builder builder() {
    return new Builder();
  }

  /** What is told to the peer. */
  public Settings settings() {
    return settings;
  }

  /** The keepalive interval in µs; 0: none. */
  public long keepalive() {
    return keepalive;
  }

  /** How long an answer to a PING of keepalive may take, in µs. */
  public long keepaliveAnswer() {
    return keepaliveAnswer;
  }

  /** The initial window of a stream, in bytes. */
  public int window() {
    return window;
  }

  /** What the pool may grow to, in bytes; 0: it does not grow. */
  public int maxPool() {
    return maxPool;
  }

  /** The promised bytes of messages that are not whole or not consumed. */
  public long incompleteBytes() {
    return incompleteBytes;
  }

  /** All codecs, for people. */
  public String codecList() {
    return codecList;
  }

  /** What all sessions of one client or server share. */
  public Load load() {
    return load;
  }

  /** Collects what a side is configured with. */
  public static final class Builder {
    private Settings settings = Settings.DEFAULTS;
    private int window = Preface.INITIAL_WINDOW;
    private int maxPool;
    private int codecs = 0x1F;
    private String codecList = "";
    private long keepalive = 20_000_000;
    private long keepaliveAnswer = 20_000_000;
    private boolean exact;
    private long incompleteBytes = 256 << 20;
    private Load load = new Load(16_384, 1 << 30);

    private Builder() {}

    /** What is told to the peer. */
    public Builder settings(Settings settings) {
      this.settings = settings;
      return this;
    }

    /** The initial window of a stream, in bytes. */
    public Builder window(int bytes) {
      window = bytes;
      return this;
    }

    /** What the pool may grow to, in bytes (limits.md 2); 0: it does not grow. */
    public Builder maxPool(int bytes) {
      maxPool = bytes;
      return this;
    }

    /**
     * The fixed codecs, 0 to 7, that this side has; its own, 8 to 15, are named in the settings.
     */
    public Builder codecs(int... numbers) {
      codecs = 0;
      for (int number : numbers) {
        if (number < 0 || number > 7) {
          throw new IllegalArgumentException("codec " + number + " is not 0 to 7");
        }
        codecs |= 1 << number;
      }
      return this;
    }

    /** All codecs, for people. */
    public Builder codecList(String list) {
      codecList = list;
      return this;
    }

    /** Keepalive interval and answer time, in µs; interval 0: none. */
    public Builder keepalive(long interval, long answer) {
      keepalive = interval;
      keepaliveAnswer = answer;
      return this;
    }

    /**
     * Whether the transport tells by {@link Session#wrote} exactly which bytes have left
     * (protocol.md 14).
     */
    public Builder exact(boolean exact) {
      this.exact = exact;
      return this;
    }

    /** The promised bytes of messages that are not whole or not consumed (limits.md 2). */
    public Builder incompleteBytes(long bytes) {
      incompleteBytes = bytes;
      return this;
    }

    /** What all sessions of one client or server share. */
    public Builder load(Load load) {
      this.load = load;
      return this;
    }

    /** What a side is configured with. */
    public SessionConfig build() {
      return new SessionConfig(this);
    }
  }
}
