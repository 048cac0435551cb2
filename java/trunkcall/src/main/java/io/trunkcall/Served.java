package io.trunkcall;

import io.trunkcall.internal.transport.http.HttpMethod;
import io.trunkcall.internal.wire.ServedMethod;
import org.jspecify.annotations.Nullable;

/** A method that is served, with its codecs by their numbers. */
final class Served {
  private static final int JSON = 2;
  private static final int CODECS = 16; // there is no other number (protocol.md 3.8)

  /** ns that a handler takes at most which a loop's own thread runs. Tests set it. */
  static volatile long shortNanos = 30_000;

  private static final int SHORT_RUNS = 32; // in a row, until it counts as short
  private static final int LONG_PENALTY = 64; // as many more behind one that was not
  private static final int MOST_PENALTY = 8_192; // behind several that the stand-in took over from
  private static final long FORGET = 10_000_000_000L; // ns behind which one is no longer held

  final Method<?, ?> method;
  final Handler handler;
  final Kind kind;
  final ServedMethod wire;
  final HttpMethod http;
  private int shortRuns;
  private int penalty;
  private long overranAt; // by System.nanoTime
  private final @Nullable Codec<Object>[] requests = codecs();
  private final @Nullable Codec<Object>[] responses = codecs();

  Served(Handler handler, boolean strictJson) {
    this.handler = handler;
    this.method = handler.method();
    this.kind = method.kind();
    this.wire = new ServedMethod(method.name(), kind.takesOne(), this);
    this.http =
        new HttpMethod(
            method.name(),
            kind.takesOne(),
            kind.streams(),
            kind.answersOne(),
            handler.hasNoSideEffects(),
            number -> request(number) != null,
            this);
    for (int number = 0; number < CODECS; number++) {
      Codec<Object> request = in(method.request(), number);
      requests[number] =
          request != null && number == JSON && strictJson ? strict(request) : request;
      responses[number] = kind == Kind.ONE_WAY ? null : in(method.response(), number);
    }
  }

  /**
   * Whether its handler has been short for a while. Any thread; a count that is lost does no harm.
   */
  boolean isShort() {
    return shortRuns >= SHORT_RUNS;
  }

  /** A handler of it took so many ns. */
  void took(long nanos) {
    int before = shortRuns;
    if (nanos > shortNanos) {
      shortRuns = before < SHORT_RUNS ? Math.min(before, 0) : -LONG_PENALTY;
    } else if (before < SHORT_RUNS) {
      shortRuns = before + 1;
    }
  }

  /**
   * The loop's thread ran a handler for so long that another had to turn the loop, which took a
   * millisecond or two: where one in a hundred waits for a database, that must not come as often.
   */
  void overran() {
    long now = System.nanoTime();
    boolean again = penalty > 0 && now - overranAt < FORGET;
    penalty = again ? Math.min(2 * penalty, MOST_PENALTY) : LONG_PENALTY;
    overranAt = now;
    shortRuns = -penalty;
  }

  /** The codec of requests that come in the codec of this number; null: they cannot. */
  @Nullable Codec<Object> request(int number) {
    return requests[number];
  }

  /** The codec of the responses to those. */
  @Nullable Codec<Object> response(int number) {
    return responses[number];
  }

  @SuppressWarnings("unchecked")
  private static @Nullable Codec<Object> in(Codec<?> codec, int number) {
    return (Codec<Object>) codec.in(number);
  }

  private static Codec<Object> strict(Codec<Object> codec) {
    return codec.strict();
  }

  @SuppressWarnings({"unchecked", "rawtypes"})
  private static @Nullable Codec<Object>[] codecs() {
    return new Codec[CODECS];
  }
}
