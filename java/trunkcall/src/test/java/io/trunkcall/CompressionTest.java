package io.trunkcall;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class CompressionTest {
  private static final long LIMIT = 1 << 20;
  private static final String LONG = "a long text, again and again; ".repeat(1_000);

  static Stream<Compression> both() {
    return Stream.of(Compression.gzip(), Compression.zstd());
  }

  private static byte[] packed(Compression one, byte[] plain) {
    Output out = new Output();
    out.write(7); // it appends
    one.compress(plain, 0, plain.length, out);
    return Arrays.copyOfRange(out.array(), 1, out.length());
  }

  @ParameterizedTest
  @MethodSource("both")
  void whatIsCompressedIsTheSameAgain(Compression one) {
    Random random = new Random(1);
    for (int size : new int[] {0, 1, 1_024, 100_000, 1 << 20}) {
      byte[] noise = new byte[size];
      random.nextBytes(noise);
      for (byte[] plain : List.of(new byte[size], noise)) {
        byte[] packed = packed(one, plain);
        byte[] within = new byte[packed.length + 20];
        System.arraycopy(packed, 0, within, 10, packed.length);
        assertArrayEquals(plain, one.decompress(within, 10, packed.length, LIMIT));
      }
    }
  }

  @Test
  void whatIsInGzipOthersCanRead() throws Exception {
    byte[] plain = LONG.getBytes();
    byte[] packed = packed(Compression.gzip(), plain);
    assertArrayEquals(plain, new GZIPInputStream(new ByteArrayInputStream(packed)).readAllBytes());
  }

  @ParameterizedTest
  @MethodSource("both")
  void whatIsLongerThanTheLimitIsNotDecompressed(Compression one) {
    byte[] packed = packed(one, new byte[(int) LIMIT + 1]);
    assertThrows(
        Compression.TooLongException.class, () -> one.decompress(packed, 0, packed.length, LIMIT));
    byte[] just = packed(one, new byte[(int) LIMIT]);
    assertEquals(LIMIT, one.decompress(just, 0, just.length, LIMIT).length);
  }

  @ParameterizedTest
  @MethodSource("both")
  void whatIsCutShortOrFollowedOrDamagedIsRefused(Compression one) {
    byte[] packed = packed(one, LONG.getBytes());
    for (int cut = 0; cut < packed.length; cut++) {
      int length = cut;
      assertThrows(
          RuntimeException.class, () -> one.decompress(packed, 0, length, LIMIT), "cut " + cut);
    }
    byte[] followed = Arrays.copyOf(packed, packed.length + 1);
    assertThrows(RuntimeException.class, () -> one.decompress(followed, 0, followed.length, LIMIT));
    Random random = new Random(2);
    for (int i = 0; i < 2_000; i++) { // which may be legal, and may be no crash
      byte[] damaged = packed.clone();
      damaged[random.nextInt(damaged.length)] ^= (byte) (1 << random.nextInt(8));
      try {
        one.decompress(damaged, 0, damaged.length, LIMIT);
      } catch (RuntimeException e) {
        // refused
      }
    }
  }

  @Test
  void framesOfZstdAreWithinTheirLimits() {
    Compression zstd = Compression.zstd();
    // A block of one byte, repeated, in a window of 16 MiB; then of 8 MiB.
    byte[] wide = HexFormat.of().parseHex("28b52ffd00700b000078");
    String told =
        assertThrows(
                IllegalArgumentException.class, () -> zstd.decompress(wide, 0, wide.length, LIMIT))
            .getMessage();
    assertEquals("its window is 16,777,216 bytes, more than 8,388,608", told);
    wide[5] = 0x68;
    assertArrayEquals(new byte[] {'x'}, zstd.decompress(wide, 0, wide.length, LIMIT));
    byte[] skipped = HexFormat.of().parseHex("502a4d180400000000000000");
    assertThrows(
        IllegalArgumentException.class, () -> zstd.decompress(skipped, 0, skipped.length, LIMIT));
    // It says that it is 2^60 bytes long.
    byte[] liar = HexFormat.of().parseHex("28b52ffde000000000000000100b000078");
    assertThrows(RuntimeException.class, () -> zstd.decompress(liar, 0, liar.length, LIMIT));
  }

  /** What attempts sent and received, in bytes. */
  private static final class Counts implements AttemptObserver {
    final LinkedBlockingQueue<CallAttempt> ended = new LinkedBlockingQueue<>();

    @Override
    public void attemptBegan(CallAttempt attempt) {}

    @Override
    public void attemptEnded(CallAttempt attempt) {
      ended.add(attempt);
    }

    boolean sentSmall() throws InterruptedException {
      CallAttempt one = ended.poll(Pair.PATIENCE.toSeconds(), TimeUnit.SECONDS);
      return one.sent() < LONG.length() / 8;
    }
  }

  @ParameterizedTest
  @MethodSource("both")
  void messagesGoCompressedAndAnswersFollow(Compression one) throws Exception {
    Counts counts = new Counts();
    Handler echo = Handler.unary(Texts.SAY, (request, call) -> request);
    Handler talk =
        Handler.bidiStream(
            Texts.TALK, (requests, responses, call) -> requests.forEach(responses::send));
    try (Pair pair =
        new Pair(s -> s.serve(echo, talk), c -> c.compression(one).attemptObserver(counts))) {
      Pair.await(pair.client.connect()); // what the server accepts is known then
      assertEquals(LONG, pair.client.call(Texts.SAY, LONG));
      CallAttempt unary = counts.ended.poll(Pair.PATIENCE.toSeconds(), TimeUnit.SECONDS);
      assertTrue(unary.sent() < LONG.length() / 8, "" + unary.sent());
      assertTrue(unary.received() < LONG.length() / 8, "" + unary.received());
      try (ClientStream<String, String> stream = pair.client.open(Texts.TALK)) {
        stream.send(LONG);
        assertEquals(LONG, stream.receive());
        stream.halfClose();
        assertFalse(stream.iterator().hasNext());
      }
      assertTrue(counts.sentSmall());
      CallOptions plain = CallOptions.NONE.withCompression();
      assertEquals(LONG, pair.client.call(Texts.SAY, LONG, plain));
      assertFalse(counts.sentSmall());
    }
  }

  @Test
  void aHandlerIsToldWhatItsCallerAccepts() throws Exception {
    Handler tells =
        Handler.unary(
            Texts.SAY,
            (request, call) ->
                call.accepts(Compression.gzip()) + " " + call.accepts(Compression.zstd()));
    try (Pair pair = new Pair(s -> s.serve(tells), c -> c.decompression(Compression.gzip()))) {
      assertEquals("true false", pair.client.call(Texts.SAY, ""));
    }
    try (Pair pair = new Pair(tells)) {
      assertEquals("true true", pair.client.call(Texts.SAY, ""));
    }
  }

  @Test
  void theFirstThatTheOtherSideAcceptsIsUsed() throws Exception {
    Counts counts = new Counts();
    Handler echo = Handler.unary(Texts.SAY, (request, call) -> request);
    try (Pair pair =
        new Pair(
            s -> s.serve(echo).decompression(Compression.gzip()),
            c -> c.compression(Compression.zstd(), Compression.gzip()).attemptObserver(counts))) {
      Pair.await(pair.client.connect());
      assertEquals(LONG, pair.client.call(Texts.SAY, LONG));
      assertTrue(counts.sentSmall());
      CallOptions zstd = CallOptions.NONE.withCompression(Compression.zstd());
      assertEquals(LONG, pair.client.call(Texts.SAY, LONG, zstd));
      assertFalse(counts.sentSmall());
    }
  }

  @Test
  void aCallMayTakeLessThanItsClient() throws Exception {
    Handler echo = Handler.unary(Texts.SAY, (request, call) -> request);
    Handler talk =
        Handler.bidiStream(
            Texts.TALK, (requests, responses, call) -> requests.forEach(responses::send));
    int length = LONG.length();
    CallOptions enough = CallOptions.NONE.withMaxReceive(length);
    CallOptions less = CallOptions.NONE.withMaxReceive(length - 1);
    assertEquals(length, enough.maxReceive());
    for (Compression[] with : new Compression[][] {{}, {Compression.gzip()}}) {
      try (Pair pair = new Pair(s -> s.serve(echo, talk), c -> c.compression(with))) {
        Pair.await(pair.client.connect());
        assertEquals(LONG, pair.client.call(Texts.SAY, LONG, enough));
        StatusException told =
            assertThrows(StatusException.class, () -> pair.client.call(Texts.SAY, LONG, less));
        assertEquals(Code.RESOURCE_EXHAUSTED, told.code());
        assertEquals(Delivery.EXECUTED, told.status().delivery());
        String text = told.status().message();
        assertTrue(text.contains("the call's limit " + (length - 1)), text);
        try (ClientStream<String, String> stream = pair.client.stream(Texts.TALK, null, less)) {
          stream.send(LONG.substring(1));
          assertEquals(LONG.substring(1), stream.receive());
          stream.send(LONG);
          told = assertThrows(StatusException.class, stream::receive);
          assertEquals(Code.RESOURCE_EXHAUSTED, told.code());
        }
      }
    }
    assertThrows(IllegalArgumentException.class, () -> CallOptions.NONE.withMaxReceive(0));
  }

  @Test
  void whatDoesNotPayIsTriedLessAndLess() {
    Packing.Economy economy = new Packing.Economy();
    int tries = 0;
    for (int i = 0; i < 10_000; i++) {
      if (economy.tries()) {
        tries++;
        assertFalse(economy.note(1_000, 999, 0));
      }
    }
    assertTrue(tries < 30, tries + " tries");
    while (!economy.tries()) {
      // until the next one
    }
    assertTrue(economy.note(1_000, 100, 0));
    assertTrue(economy.tries(), "one that pays is trusted again");
  }

  @Test
  void otherNumbersAreRefused() {
    Compression other =
        new Compression() {
          @Override
          public String name() {
            return "mine";
          }

          @Override
          public int number() {
            return 3;
          }

          @Override
          public void compress(byte[] array, int offset, int length, Output out) {}

          @Override
          public byte[] decompress(byte[] array, int offset, int length, long limit) {
            return array;
          }
        };
    String told =
        assertThrows(
                IllegalArgumentException.class, () -> Client.builder("a:1").decompression(other))
            .getMessage();
    assertEquals("option decompression: mine has number 3, want 1 (gzip) or 2 (zstd)", told);
  }
}
