package io.trunkcall.codefirst;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.trunkcall.Code;
import io.trunkcall.Codec;
import io.trunkcall.Output;
import io.trunkcall.StatusException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Bytes that no codec wrote: they are read or refused, and nothing else happens. */
class HostileBytesTest {
  /** Takes a value of each kind. */
  interface Kinds {
    void call(
        VectorTypes.All all,
        List<VectorTypes.Place> places,
        Map<Long, Object> any,
        long[] numbers,
        Object loose);
  }

  private static final Signature SIGNATURE =
      Signature.of(
          "/hostile/bytes",
          Declared.parameters(Kinds.class.getDeclaredMethods()[0]),
          Declared.result(Kinds.class.getDeclaredMethods()[0]));

  private static byte[] valid(Codec<Arguments> codec) {
    VectorTypes.All all =
        new VectorTypes.All(
            true,
            (byte) 1,
            1.5,
            "d\"ü☎",
            new byte[] {1, 2},
            Instant.ofEpochSecond(1, 5),
            Duration.ofMillis(-1500),
            Map.of("k", "v"),
            new VectorTypes.Point(1, 2),
            VectorTypes.Colour.GREEN);
    Output out = new Output();
    codec.encode(
        new Arguments(
            SIGNATURE,
            new Object[] {
              all,
              List.of(new VectorTypes.Place("n", null, List.of("t"))),
              Map.of(1L, List.of(1L, "x")),
              new long[] {1, 1L << 60},
              Map.of("a", 0.5)
            }),
        out);
    return Arrays.copyOf(out.array(), out.length());
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 3})
  void changedBytesAreReadOrRefused(int number) {
    Codec<Arguments> codec = SIGNATURE.method(ValueCodec.Form.MESSAGE_PACK).request().in(number);
    byte[] valid = valid(codec);
    assertEquals(5, codec.decode(valid, 0, valid.length).size());
    Random random = new Random(42);
    for (int i = 0; i < 50_000; i++) {
      byte[] changed = changed(valid, random);
      try {
        assertNotNull(codec.decode(changed, 0, changed.length));
      } catch (StatusException e) {
        assertNotNull(e.status().message());
      } catch (RuntimeException e) {
        throw new AssertionError(new String(changed, StandardCharsets.ISO_8859_1), e);
      }
    }
  }

  private static byte[] changed(byte[] valid, Random random) {
    byte[] changed = Arrays.copyOf(valid, valid.length - random.nextInt(3));
    for (int n = random.nextInt(3); n >= 0; n--) {
      int at = random.nextInt(changed.length);
      switch (random.nextInt(3)) {
        case 0 -> changed[at] = (byte) random.nextInt();
        case 1 -> changed[at] ^= (byte) (1 << random.nextInt(8));
        default -> changed[at] = valid[random.nextInt(valid.length)];
      }
    }
    return changed;
  }

  record Wide(
      String a, List<String> b, Map<String, String> c, byte[] d, Inner e, Inner f, Inner g) {}

  record Inner(long a, long b, Map<String, Long> c, @Nullable Wide d) {}

  /** Takes what an empty map may stand for. */
  interface Amplifying {
    int count(List<Wide> all);
  }

  private static final Signature AMPLIFYING =
      Signature.of(
          "/hostile/amplifying",
          Declared.parameters(Amplifying.class.getDeclaredMethods()[0]),
          Declared.result(Amplifying.class.getDeclaredMethods()[0]));

  /** A request with so many empty maps. */
  private static byte[] empty(int number, int count) {
    if (number == 2) {
      String all = "{},".repeat(count);
      return ("[[" + all.substring(0, all.length() - 1) + "]]").getBytes(StandardCharsets.US_ASCII);
    }
    byte[] made = new byte[6 + count];
    Arrays.fill(made, (byte) 0x80);
    made[0] = (byte) 0x91;
    made[1] = (byte) 0xdd;
    ByteBuffer.wrap(made).putInt(2, count);
    return made;
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 3})
  void recordsThatAreMuchLongerThanTheirBytesAreBounded(int number) {
    Codec<Arguments> codec = AMPLIFYING.method(ValueCodec.Form.MESSAGE_PACK).request().in(number);
    byte[] few = empty(number, 1_000);
    List<?> made = (List<?>) codec.decode(few, 0, few.length).get(0);
    assertEquals(1_000, made.size());
    byte[] many = empty(number, 100_000);
    StatusException refused =
        assertThrows(StatusException.class, () -> codec.decode(many, 0, many.length));
    assertEquals(Code.RESOURCE_EXHAUSTED, refused.code());
    String text = refused.status().message();
    assertTrue(text.contains("64 bytes for each byte of the message"), text);
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 3})
  void recordsThatAreWrittenAreNotTooMuch(int number) {
    Codec<Arguments> codec = AMPLIFYING.method(ValueCodec.Form.MESSAGE_PACK).request().in(number);
    Inner inner = new Inner(0, 0, Map.of(), null);
    Wide wide = new Wide("", List.of(), Map.of(), new byte[0], inner, inner, inner);
    Output out = new Output();
    codec.encode(new Arguments(AMPLIFYING, new Object[] {Collections.nCopies(100_000, wide)}), out);
    List<?> read = (List<?>) codec.decode(out.array(), 0, out.length()).get(0);
    assertEquals(100_000, read.size());
  }
}
