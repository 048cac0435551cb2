package io.trunkcall.codefirst;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import io.trunkcall.Codec;
import io.trunkcall.Output;
import io.trunkcall.StatusException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
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
}
