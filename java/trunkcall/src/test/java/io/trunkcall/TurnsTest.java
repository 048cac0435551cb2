package io.trunkcall;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.trunkcall.internal.transport.Loops;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

/** How many messages are compressed and decompressed at once (limits.md 2). */
class TurnsTest {
  private static final int GZIP = 1;
  private static final byte[] PLAIN = new byte[600_000];
  private static final byte[] PACKED = packed(PLAIN);

  private static byte[] packed(byte[] plain) {
    Output out = new Output();
    Compression.gzip().compress(plain, 0, plain.length, out);
    return Arrays.copyOf(out.array(), out.length());
  }

  private static Packing packing(Compression one) {
    return new Packing(List.of(one), List.of(one), 64 << 20, 1 << 20);
  }

  /** A codec of the user's. */
  private static class Own implements Codec<byte[]> {
    @Override
    public int number() {
      return 0;
    }

    @Override
    public String name() {
      return "own";
    }

    @Override
    public void encode(byte[] message, Output out) {
      out.write(message, 0, message.length);
    }

    @Override
    public byte[] decode(byte[] array, int offset, int length) {
      return Arrays.copyOfRange(array, offset, offset + length);
    }
  }

  /** gzip, in other words. */
  private static class OwnGzip implements Compression {
    @Override
    public String name() {
      return "own gzip";
    }

    @Override
    public int number() {
      return GZIP;
    }

    @Override
    public void compress(byte[] array, int offset, int length, Output out) {
      Compression.gzip().compress(array, offset, length, out);
    }

    @Override
    public byte[] decompress(byte[] array, int offset, int length, long limit) {
      return Compression.gzip().decompress(array, offset, length, limit);
    }
  }

  /** Work on a thread of its own. */
  private static <T> CompletableFuture<T> apart(Supplier<T> work) {
    CompletableFuture<T> result = new CompletableFuture<>();
    Thread thread =
        new Thread(
            () -> {
              try {
                result.complete(work.get());
              } catch (Throwable e) {
                result.completeExceptionally(e);
              }
            });
    thread.setDaemon(true);
    thread.start();
    return result;
  }

  private static Unpacked unpacked(Packing packing, Codec<?> codec) {
    return packing.unpacked(PACKED, 0, PACKED.length, GZIP, 0, codec);
  }

  private static byte[] taken(Packing packing, Codec<byte[]> codec) {
    return unpacked(packing, codec).decoded(codec);
  }

  @Test
  void noMoreMessagesAreWorkedOnThanThereAreTurns() {
    AtomicInteger inside = new AtomicInteger();
    AtomicInteger most = new AtomicInteger();
    CountDownLatch go = new CountDownLatch(1);
    Packing packing =
        packing(
            new OwnGzip() {
              private void stay() {
                most.accumulateAndGet(inside.incrementAndGet(), Math::max);
                try {
                  assertTrue(go.await(Pair.PATIENCE.toSeconds(), TimeUnit.SECONDS));
                } catch (InterruptedException e) {
                  throw new AssertionError(e);
                } finally {
                  inside.decrementAndGet();
                }
              }

              @Override
              public void compress(byte[] array, int offset, int length, Output out) {
                stay();
                super.compress(array, offset, length, out);
              }

              @Override
              public byte[] decompress(byte[] array, int offset, int length, long limit) {
                stay();
                return super.decompress(array, offset, length, limit);
              }
            });
    List<CompletableFuture<?>> all = new ArrayList<>();
    Output plain = new Output();
    plain.write(PLAIN, 0, PLAIN.length);
    for (int i = 0; i < Turns.ALL + 1; i++) {
      all.add(apart(() -> taken(packing, Codec.raw())));
      all.add(apart(() -> packing.request("a", plain, null, Packing.numbers(Packing.usual()))));
    }
    Pair.until(() -> inside.get() >= Turns.ALL, "all turns are taken");
    Pair.until(() -> Turns.waiting() >= 2, "others wait for a turn");
    go.countDown();
    all.forEach(Pair::await);
    assertEquals(Turns.ALL, most.get());
  }

  @Test
  void aMessageHasItsTurnUntilItIsDecoded() {
    Packing packing = packing(Compression.gzip());
    List<Unpacked> held = new ArrayList<>();
    for (int i = 0; i < Turns.ALL; i++) {
      held.add(unpacked(packing, Codec.raw()));
    }
    CompletableFuture<byte[]> late = apart(() -> taken(packing, Codec.raw()));
    Pair.until(() -> Turns.waiting() >= 1, "another waits for a turn");
    assertFalse(late.isDone());
    for (Unpacked one : held) {
      assertArrayEquals(PLAIN, one.decoded(Codec.raw()));
    }
    assertArrayEquals(PLAIN, Pair.await(late));
  }

  @Test
  void anEventLoopDoesNotWaitForItsTurn() {
    Packing packing = packing(Compression.gzip());
    List<Unpacked> held = new ArrayList<>();
    for (int i = 0; i < Turns.ALL; i++) {
      held.add(unpacked(packing, Codec.raw()));
    }
    CompletableFuture<byte[]> late = apart(() -> taken(packing, Codec.raw()));
    Pair.until(() -> Turns.waiting() >= 1, "another waits for a turn");
    CompletableFuture<byte[]> onLoop =
        CompletableFuture.supplyAsync(() -> taken(packing, Codec.raw()), Loops.next());
    assertArrayEquals(PLAIN, Pair.await(onLoop));
    assertFalse(late.isDone());
    held.forEach(one -> one.decoded(Codec.raw()));
    assertArrayEquals(PLAIN, Pair.await(late));
  }

  @Test
  void whatFailsGivesItsTurnBack() {
    Packing packing = packing(Compression.gzip());
    Packing narrow = new Packing(null, List.of(Compression.gzip()), 1_000, 1 << 20);
    Codec<byte[]> fails =
        new Own() {
          @Override
          public byte[] decode(byte[] array, int offset, int length) {
            throw new IllegalArgumentException("as it should");
          }
        };
    for (int i = 0; i < 2 * Turns.ALL; i++) {
      assertThrows(
          IllegalArgumentException.class, () -> packing.unpacked(PACKED, 0, 20, GZIP, 0, fails));
      assertThrows(StatusException.class, () -> unpacked(narrow, fails));
      assertThrows(IllegalArgumentException.class, () -> taken(packing, fails));
    }
    assertArrayEquals(PLAIN, taken(packing, Codec.raw()));
  }

  @Test
  void codecsOfTheUsersMayMakeCalls() {
    Packing packing = new Packing(null, List.of(Compression.gzip()), 64 << 20, 1L << 40);
    CyclicBarrier all = new CyclicBarrier(Turns.ALL);
    Codec<byte[]> calls =
        new Own() {
          @Override
          public byte[] decode(byte[] array, int offset, int length) {
            try {
              all.await(Pair.PATIENCE.toSeconds(), TimeUnit.SECONDS);
            } catch (Exception e) {
              throw new AssertionError(e);
            }
            return taken(packing, Codec.raw()); // as for the answer of a call
          }
        };
    List<CompletableFuture<byte[]>> taken = new ArrayList<>();
    for (int i = 0; i < Turns.ALL; i++) {
      taken.add(apart(() -> taken(packing, calls)));
    }
    taken.forEach(one -> assertArrayEquals(PLAIN, Pair.await(one)));
  }

  @Test
  void messagesForCodecsOfTheUsersAreBoundedByTheMemory() {
    Packing packing = packing(Compression.gzip()); // with a memory of 1 MiB
    Codec<byte[]> own = new Own();
    Unpacked first = unpacked(packing, own);
    StatusException full = assertThrows(StatusException.class, () -> unpacked(packing, own));
    assertEquals(Code.RESOURCE_EXHAUSTED, full.code());
    assertEquals(Duration.ofSeconds(1), full.status().retryAfter());
    assertTrue(full.status().message().contains("1048576"), full.status().message());
    assertArrayEquals(PLAIN, taken(packing, Codec.raw())); // which has a turn
    assertArrayEquals(PLAIN, first.decoded(own));

    byte[] longer = packed(new byte[2 << 20]); // one may be longer
    Unpacked alone = packing.unpacked(longer, 0, longer.length, GZIP, 0, own);
    assertThrows(StatusException.class, () -> unpacked(packing, own));
    assertEquals(2 << 20, alone.decoded(own).length);
    assertArrayEquals(PLAIN, taken(packing, own));
  }

  @Test
  void aServerRefusesWhatItHasNoRoomFor() throws Exception {
    CountDownLatch decoding = new CountDownLatch(1);
    CountDownLatch go = new CountDownLatch(1);
    Codec<byte[]> slow =
        new Own() {
          @Override
          public byte[] decode(byte[] array, int offset, int length) {
            decoding.countDown();
            try {
              assertTrue(go.await(Pair.PATIENCE.toSeconds(), TimeUnit.SECONDS));
            } catch (InterruptedException e) {
              throw new AssertionError(e);
            }
            return super.decode(array, offset, length);
          }
        };
    Method<byte[], byte[]> served = Method.unary("/test.Turns/Say", slow, Codec.raw());
    Method<byte[], byte[]> called = Method.unary("/test.Turns/Say", Codec.raw(), Codec.raw());
    Handler handler = Handler.unary(served, (request, call) -> new byte[1]);
    try (Pair pair =
        new Pair(
            s -> s.serve(handler).memory(1 << 20),
            c -> c.compression(Compression.gzip()).repeat(false))) {
      Pair.await(pair.client.connect());
      CompletableFuture<byte[]> first = apart(() -> pair.client.call(called, PLAIN));
      assertTrue(decoding.await(Pair.PATIENCE.toSeconds(), TimeUnit.SECONDS));
      StatusException full =
          assertThrows(StatusException.class, () -> pair.client.call(called, PLAIN));
      assertEquals(Code.RESOURCE_EXHAUSTED, full.code());
      assertEquals(Delivery.REFUSED, full.status().delivery());
      assertEquals(Duration.ofSeconds(1), full.status().retryAfter());
      go.countDown();
      Pair.await(first);
    }
  }

  @Test
  void aRequestThatDoesNotDecompressIsAnInvalidArgument() throws Exception {
    Handler echo = Handler.unary(Texts.SAY, (request, call) -> request);
    Compression wrong =
        new OwnGzip() {
          @Override
          public void compress(byte[] array, int offset, int length, Output out) {
            out.write(7);
          }
        };
    try (Pair pair = new Pair(s -> s.serve(echo), c -> c.compression(wrong))) {
      Pair.await(pair.client.connect());
      StatusException told =
          assertThrows(
              StatusException.class, () -> pair.client.call(Texts.SAY, "x".repeat(10_000)));
      assertEquals(Code.INVALID_ARGUMENT, told.code());
      assertEquals(Delivery.REFUSED, told.status().delivery());
      assertTrue(told.status().message().contains("does not decompress"), told.status().message());
    }
  }
}
