package io.trunkcall.codefirst;

import java.math.BigInteger;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The shapes of types that have one value, none of them optional. */
final class Shapes {
  static final Shape BOOLEAN =
      leaf(
          "a boolean",
          false,
          (w, v) -> w.writeBoolean((Boolean) v),
          ValueReader::readBoolean,
          false);
  static final Shape BYTE = signed(8, n -> (byte) n);
  static final Shape SHORT = signed(16, n -> (short) n);
  static final Shape INT = signed(32, n -> (int) n);
  static final Shape LONG = signed(64, n -> n);
  static final Shape UNSIGNED_8 = unsigned(8, n -> (short) n);
  static final Shape UNSIGNED_16 = unsigned(16, n -> (int) n);
  static final Shape UNSIGNED_32 = unsigned(32, n -> n);
  static final Shape UNSIGNED_64 =
      leaf(
          "a whole number",
          BigInteger.ZERO,
          Shapes::writeUnsigned64,
          r -> Whole.unsigned(r.readUnsigned(64)),
          true);
  static final Shape FLOAT =
      leaf("a number", 0f, (w, v) -> w.writeFloat((Float) v), r -> (float) r.readFloat(32), false);
  static final Shape DOUBLE =
      leaf("a number", 0.0, (w, v) -> w.writeDouble((Double) v), r -> r.readFloat(64), false);
  static final Shape TEXT =
      leaf("text", "", (w, v) -> w.writeText((String) v), ValueReader::readText, true);
  static final Shape BYTES =
      new Leaf("bytes", (w, v) -> w.writeBytes((byte[]) v), ValueReader::readBytes, false) {
        @Override
        Object zero() {
          return new byte[0]; // one that its owner may give to others
        }

        @Override
        long memory() {
          return 16;
        }
      };
  static final Shape TIME =
      leaf("a time", Times.FIRST, (w, v) -> w.writeTime((Instant) v), ValueReader::readTime, false);
  static final Shape DURATION =
      leaf(
          "a duration",
          Duration.ZERO,
          (w, v) -> w.writeDuration(Times.nanoseconds((Duration) v)),
          r -> Duration.ofNanos(r.readDuration()),
          false);
  static final Shape ANY = new AnyShape();

  /** By class, boxed types as the ones that they box. */
  static final Map<Class<?>, Shape> BY_CLASS =
      Map.ofEntries(
          Map.entry(boolean.class, BOOLEAN),
          Map.entry(byte.class, BYTE),
          Map.entry(short.class, SHORT),
          Map.entry(int.class, INT),
          Map.entry(long.class, LONG),
          Map.entry(float.class, FLOAT),
          Map.entry(double.class, DOUBLE),
          Map.entry(BigInteger.class, UNSIGNED_64),
          Map.entry(String.class, TEXT),
          Map.entry(byte[].class, BYTES),
          Map.entry(Instant.class, TIME),
          Map.entry(Duration.class, DURATION),
          Map.entry(Object.class, ANY));

  /** Of the types that {@link Unsigned} may stand at. */
  static final Map<Class<?>, Shape> UNSIGNED =
      Map.of(
          short.class, UNSIGNED_8,
          int.class, UNSIGNED_16,
          long.class, UNSIGNED_32,
          BigInteger.class, UNSIGNED_64);

  private Shapes() {}

  private interface ToBoxed {
    Object box(long value);
  }

  private static Shape signed(int bits, ToBoxed boxed) {
    return leaf(
        "a whole number",
        boxed.box(0),
        (w, v) -> w.writeInteger(((Number) v).longValue()),
        r -> boxed.box(r.readInteger(bits)),
        true);
  }

  private static Shape unsigned(int bits, ToBoxed boxed) {
    return leaf(
        "a whole number",
        boxed.box(0),
        (w, v) -> {
          long value = ((Number) v).longValue();
          if (value >>> bits != 0) {
            throw ValueReader.wholeWanted(bits, false, ValueReader.OUT_OF_RANGE);
          }
          w.writeUnsigned(value);
        },
        r -> boxed.box(r.readUnsigned(bits)),
        true);
  }

  private static void writeUnsigned64(ValueWriter w, Object value) {
    BigInteger number = (BigInteger) value;
    if (number.signum() < 0 || number.bitLength() > 64) {
      throw ValueReader.wholeWanted(64, false, ValueReader.OUT_OF_RANGE);
    }
    w.writeUnsigned(number.longValue());
  }

  private static Shape leaf(
      String wanted,
      Object zero,
      BiConsumer<ValueWriter, Object> write,
      Function<ValueReader, Object> read,
      boolean isKey) {
    return new Leaf(wanted, write, read, isKey) {
      @Override
      Object zero() {
        return zero;
      }
    };
  }

  private abstract static class Leaf extends Shape {
    private final String wanted;
    private final BiConsumer<ValueWriter, Object> write;
    private final Function<ValueReader, Object> read;
    private final boolean key;

    Leaf(
        String wanted,
        BiConsumer<ValueWriter, Object> write,
        Function<ValueReader, Object> read,
        boolean key) {
      this.wanted = wanted;
      this.write = write;
      this.read = read;
      this.key = key;
    }

    @Override
    void writeValue(ValueWriter w, Object value) {
      write.accept(w, value);
    }

    @Override
    Object read(ValueReader r) {
      return read.apply(r);
    }

    @Override
    String wanted() {
      return wanted;
    }

    @Override
    boolean isKey() {
      return key;
    }
  }

  private static final class AnyShape extends Shape {
    @Override
    void writeValue(ValueWriter w, Object value) {
      AnyValue.write(w, value);
    }

    @Override
    void writeAbsent(ValueWriter w) {
      w.writeNull();
    }

    @Override
    @Nullable Object read(ValueReader r) {
      return r.readAny();
    }

    @Override
    @Nullable Object zero() {
      return null;
    }

    @Override
    String wanted() {
      return ANY;
    }

    @Override
    boolean takesNull() {
      return true;
    }
  }
}
