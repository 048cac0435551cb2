package io.trunkcall;

import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** The compressions of one client or server: what it sends with, what it accepts. Any thread. */
final class Packing {
  /** Why zstd cannot be used here; empty if it can. */
  static final String NO_ZSTD = noZstd();

  private static final int LEAST = 1_024; // bytes of a message; shorter ones are sent plain
  private static final int METHODS = 4_096; // that have an economy of their own

  private final @Nullable List<Compression> order; // null: nothing was said
  private final List<Compression> accepted;
  private final long maxMessage; // when decompressed
  private final Unpacked.Room room;
  private final ConcurrentHashMap<String, Economy> economies = new ConcurrentHashMap<>();
  private final Economy others = new Economy();

  Packing(
      @Nullable List<Compression> order, List<Compression> accepted, long maxMessage, long memory) {
    this.order = order;
    this.accepted = accepted;
    this.maxMessage = maxMessage;
    this.room = new Unpacked.Room(memory);
  }

  /**
   * Its library is optional, and has a native part, which not every system can load: it is tried.
   */
  private static String noZstd() {
    String needs = "zstd needs the library com.github.luben:zstd-jni, ";
    try {
      Class.forName("com.github.luben.zstd.Zstd", true, Packing.class.getClassLoader());
      return "";
    } catch (ClassNotFoundException e) {
      return needs + "which is not there";
    } catch (RuntimeException | LinkageError e) {
      Throwable why = e.getCause() == null ? e : e.getCause();
      return needs + "whose native part cannot be loaded here: " + why;
    }
  }

  /** What is accepted unless something else is said. */
  static List<Compression> usual() {
    return NO_ZSTD.isEmpty() ? List.of(Gzip.GZIP, Zstandard.ZSTD) : List.of(Gzip.GZIP);
  }

  /** Throws IllegalArgumentException for numbers that are none. */
  static List<Compression> checked(String option, Compression... given) {
    for (Compression one : given) {
      if (one.number() != 1 && one.number() != 2) {
        throw new IllegalArgumentException(
            "option "
                + option
                + ": "
                + one.name()
                + " has number "
                + one.number()
                + ", want 1 (gzip) or 2 (zstd)");
      }
    }
    return List.of(given);
  }

  /** The compressions that it sends with, in order; null: nothing was said. */
  @Nullable List<Integer> order() {
    return order == null ? null : order.stream().map(Compression::number).toList();
  }

  static Set<Integer> numbers(List<Compression> accepted) {
    Set<Integer> numbers = new TreeSet<>();
    accepted.forEach(one -> numbers.add(one.number()));
    return numbers;
  }

  /**
   * A message of a call that says what to compress with, or a request of one that does not,
   * compressed; null: it is sent plain. {@code said}: what the call says; {@code takes}: what the
   * other side accepts.
   */
  @Nullable Output request(
      String method, Output plain, @Nullable List<Compression> said, Set<Integer> takes) {
    List<Compression> with = said == null ? order : said;
    if (with == null || with.isEmpty() || plain.length() < LEAST) {
      return null;
    }
    return pack(method, plain, first(with, takes));
  }

  /** The same for an answer: with what its request came with, unless something else is said. */
  @Nullable Output answer(String method, Output plain, int asked, Set<Integer> takes) {
    if (plain.length() < LEAST || (asked == 0 && order == null)) {
      return null;
    }
    if (order != null && order.isEmpty()) {
      return null;
    }
    Compression one = asked == 0 || !takes.contains(asked) ? null : of(asked);
    if (one == null && order != null) {
      one = first(order, takes);
    }
    return pack(method, plain, one);
  }

  private static @Nullable Compression first(List<Compression> order, Set<Integer> takes) {
    for (Compression one : order) {
      if (takes.contains(one.number())) {
        return one;
      }
    }
    return null;
  }

  private @Nullable Compression of(int number) {
    for (Compression one : accepted) {
      if (one.number() == number) {
        return one;
      }
    }
    return null;
  }

  private @Nullable Output pack(String method, Output plain, @Nullable Compression one) {
    if (one == null) {
      return null;
    }
    Economy economy = economies.get(method);
    if (economy == null) {
      economy =
          economies.size() >= METHODS
              ? others
              : economies.computeIfAbsent(method, name -> new Economy());
    }
    if (!economy.tries()) {
      return null;
    }
    Output packed = new Output();
    int size = plain.length();
    long took;
    Turns.take();
    try {
      long began = System.nanoTime();
      try {
        one.compress(plain.array(), 0, plain.length(), packed);
        size = packed.length();
      } catch (RuntimeException | LinkageError e) {
        // As documented, the message is sent as it is.
      }
      took = System.nanoTime() - began;
    } finally {
      Turns.end();
    }
    if (!economy.note(plain.length(), size, took)) {
      return null;
    }
    packed.compression = one.number();
    return packed;
  }

  /**
   * A message as it was before, to be decoded by {@code codec}. {@code most}: the call's own limit,
   * 0 for none.
   *
   * @throws StatusException RESOURCE_EXHAUSTED, for one that is too long, or too many at once
   * @throws IllegalArgumentException for one that does not decompress
   */
  Unpacked unpacked(byte[] array, int offset, int length, int number, int most, Codec<?> codec) {
    Compression one = of(number);
    if (one == null) { // the session sees to it
      throw new IllegalArgumentException("it came with a compression that is not accepted");
    }
    byte[] plain;
    Turns.take();
    try {
      plain = decompressed(one, array, offset, length, most);
    } catch (Throwable e) {
      Turns.end();
      throw e;
    }
    return Unpacked.of(plain, codec, room);
  }

  private byte[] decompressed(Compression one, byte[] array, int offset, int length, int most) {
    boolean own = most > 0 && most < maxMessage;
    long limit = own ? most : maxMessage;
    try {
      return one.decompress(array, offset, length, limit);
    } catch (Compression.TooLongException e) {
      String name = own ? "the call's limit " : "max_message ";
      throw new StatusException(
          Code.RESOURCE_EXHAUSTED, "it is longer than " + name + limit + " when decompressed");
    } catch (RuntimeException e) {
      throw new IllegalArgumentException(
          "it does not decompress with " + one.name() + ": " + Failures.spelled(e), e);
    }
  }

  /**
   * Decides whether compressing the messages of one method pays (limits.md 2). It begins with some
   * trust; a try that pays adds to it and one that does not takes from it. When it is used up, the
   * messages that follow are sent plain for a while, twice as many each time; then one is tried.
   */
  static final class Economy {
    private static final int LEAST_SAVED = 8; // worth sending if this part is saved: an eighth
    private static final long SAVED_PER_BYTE = 80; // ns, a byte's time at 100 Mbit/s
    private static final int FIRST_TRUST = 4; // tries that may fail
    private static final int MOST_TRUST = 8;
    private static final int FIRST_REST = 16; // messages sent plain when trust is used up
    private static final int LONGEST_REST = 1_024;

    private int trust = FIRST_TRUST;
    private int rest; // messages to be sent plain before the next try
    private int pause = FIRST_REST; // what rest begins with, next time

    /** Whether the next message is to be compressed. */
    synchronized boolean tries() {
      if (rest > 0) {
        rest--;
        return false;
      }
      return true;
    }

    /**
     * Takes in how a try went: from how many bytes to how many, in how many ns. Whether the result
     * is worth being sent, which does not depend on the time: that is spent.
     */
    synchronized boolean note(int plain, int packed, long took) {
      long saved = (long) plain - packed;
      boolean worth = saved * LEAST_SAVED >= plain;
      if (worth && took <= saved * SAVED_PER_BYTE) {
        trust = Math.min(trust + 1, MOST_TRUST);
        pause = FIRST_REST;
      } else if (rest == 0) { // else others found out meanwhile
        trust--;
        if (trust <= 0) {
          trust = 1;
          rest = pause;
          pause = Math.min(2 * rest, LONGEST_REST);
        }
      }
      return worth;
    }
  }
}
