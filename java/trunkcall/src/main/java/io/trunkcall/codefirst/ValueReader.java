package io.trunkcall.codefirst;

import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Reads the values of one message in all forms of code-first.md 3.2. Every method reads one whole
 * value or throws a {@link ValueException}, and then the message is done with.
 *
 * <p>An array or map is read as {@code for (int left = r.beginArray(); r.more(left); left--)}.
 */
abstract class ValueReader {
  /** Of a record there is no field of the name that came. */
  static final int NO_FIELD = -1;

  /** How many elements there is room for, at most, before the announced ones have come. */
  static final int PREALLOCATED = 512;

  // What the records of a message may need, in bytes of memory: in any case, and for each byte of
  // the message. An empty record is a byte that may stand for very many fields (limits.md 2).
  private static final int ALWAYS = 1 << 20;
  private static final int PER_BYTE = 64;

  /** The whole number that {@link #readWhole} read last. */
  boolean negative;

  long magnitude;

  private int depth;
  private long room; // bytes of memory that records may still need

  ValueReader(int length) {
    room = ALWAYS + PER_BYTE * (long) length;
  }

  /** Takes null if that is what comes. */
  abstract boolean takeNull();

  abstract boolean readBoolean();

  /**
   * Reads any whole number that 64 bits and a sign hold, into {@link #negative} and {@link
   * #magnitude}. The arguments are for the error.
   */
  abstract void readWhole(int bits, boolean signed);

  abstract double readFloat(int bits);

  abstract String readText();

  abstract byte[] readBytes();

  abstract Instant readTime();

  abstract long readDuration();

  /** Begins an array. Returns how many elements are announced, or -1 where none are. */
  abstract int beginArray();

  /** Begins a map, as {@link #beginArray}. */
  abstract int beginMap();

  /** Whether another element comes; behind the last one, ends the array or map. */
  abstract boolean more(int left);

  /**
   * Reads a key of a record and returns the index of its field, or {@link #NO_FIELD}. {@code
   * likely} is the index that is tried first.
   */
  abstract int readField(RecordFields fields, int likely);

  /** Is told that the name which {@link #readField} read last is no field's. */
  abstract void unknownField();

  /** Reads a value of whatever type comes (code-first.md 3.7). */
  abstract @Nullable Object readAny();

  /** Reads a key for a map of any values. */
  abstract String readAnyKey();

  /** Passes over a value that nobody wants. */
  abstract void skip();

  /** Fails if anything follows the message. */
  abstract void end();

  final long readInteger(int bits) {
    readWhole(bits, true);
    // -2^(bits-1) has no positive counterpart.
    long most = Long.MAX_VALUE >> (64 - bits);
    if (Long.compareUnsigned(magnitude, negative ? most + 1 : most) > 0) {
      throw wholeWanted(bits, true, OUT_OF_RANGE);
    }
    return negative ? -magnitude : magnitude;
  }

  /** Reads a whole number without a sign; of 64 bits it may look negative to Java. */
  final long readUnsigned(int bits) {
    readWhole(bits, false);
    if ((negative && magnitude != 0) || (bits < 64 && magnitude >>> bits != 0)) {
      throw wholeWanted(bits, false, OUT_OF_RANGE);
    }
    return magnitude;
  }

  final void whole(boolean isNegative, long itsMagnitude) {
    negative = isNegative;
    magnitude = itsMagnitude;
  }

  final void enter() {
    if (++depth > ValueException.MAX_NESTING) {
      throw ValueException.nesting();
    }
  }

  final void leave() {
    depth--;
  }

  /** Counts the memory that a record needs, before it is made. */
  final void charge(long bytes) {
    room -= bytes;
    if (room < 0) {
      throw ValueException.tooMuch(PER_BYTE);
    }
  }

  static final String OUT_OF_RANGE = "a number out of range";

  /** 2^53 - 1: up to it a float of 64 bits has every whole number. */
  static final long MAX_SAFE = (1L << 53) - 1;

  static ValueException wholeWanted(int bits, boolean signed, String got) {
    String range =
        signed
            ? (Long.MIN_VALUE >> (64 - bits)) + " to " + (Long.MAX_VALUE >> (64 - bits))
            : "0 to " + Long.toUnsignedString(-1L >>> (64 - bits));
    return ValueException.unwanted("a whole number from " + range, got);
  }

  /** Takes a float where a whole number is wanted. */
  final void wholeOf(double value, int bits, boolean signed) {
    if (Double.isNaN(value) || Double.isInfinite(value) || value != Math.rint(value)) {
      throw wholeWanted(bits, signed, "a float that is not whole");
    }
    if (Math.abs(value) > MAX_SAFE) {
      throw wholeWanted(bits, signed, "a float beyond 2^53 - 1");
    }
    whole(value < 0, (long) Math.abs(value));
  }

  static double narrowed(double value, int bits) {
    if (bits == 32 && Double.isFinite(value) && Float.isInfinite((float) value)) {
      throw ValueException.unwanted("a float of 32 bits", "one out of range");
    }
    return value;
  }

  /** Reads an array whose elements may be anything. */
  final List<@Nullable Object> readAnyList() {
    int announced = beginArray();
    List<@Nullable Object> list = new ArrayList<>(Math.min(Math.max(announced, 0), 16));
    for (int left = announced; more(left); left--) {
      try {
        list.add(readAny());
      } catch (ValueException e) {
        throw e.at(list.size());
      }
    }
    return list;
  }

  /** Reads a map whose values may be anything. */
  final Map<String, @Nullable Object> readAnyMap() {
    Map<String, @Nullable Object> map = new LinkedHashMap<>();
    for (int left = beginMap(); more(left); left--) {
      String key;
      try {
        key = readAnyKey();
      } catch (ValueException e) {
        throw e.within("[key]");
      }
      try {
        map.put(key, readAny());
      } catch (ValueException e) {
        throw e.within("[value]");
      }
    }
    return map;
  }
}
