package io.trunkcall.registries;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.trunkcall.Balancer;
import io.trunkcall.CallOptions;
import io.trunkcall.Client;
import io.trunkcall.Codec;
import io.trunkcall.EndpointState;
import io.trunkcall.Method;
import io.trunkcall.Picker;
import io.trunkcall.StatusException;
import io.trunkcall.registry.Registry;
import io.trunkcall.registry.ServiceRecord;
import io.trunkcall.registry.Source;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import java.util.stream.Stream;

/** What meets a client that watches a registry whose answers are spoilt at random. */
final class Spoilt {
  static final String SERVICE = "s";
  static final List<String> IDS = List.of("a", "b", "c");

  private static final int FEW = 12; // threads that libraries may keep, however often they are used

  private Spoilt() {}

  /** Seeds of random numbers: one that stays, and another each time, which is a test's name. */
  static Stream<Long> seeds() {
    return Stream.of(1L, System.nanoTime());
  }

  /** The bytes of a record. */
  static byte[] record(String id) {
    return ServiceRecord.builder(SERVICE, id, "10.0.0.1:4000").zone("here").build().toBytes();
  }

  /** Bytes of which some are others, are gone, are there twice, or are cut off. */
  static byte[] spoilt(Random random, byte[] whole) {
    byte[] made = whole.clone();
    for (int changes = random.nextInt(3); changes >= 0 && made.length > 0; changes--) {
      int at = random.nextInt(made.length);
      int end = Math.min(made.length, at + 1 + random.nextInt(8));
      switch (random.nextInt(4)) {
        case 0 -> made[at] = (byte) random.nextInt(256);
        case 1 ->
            made = joined(Arrays.copyOf(made, at), Arrays.copyOfRange(made, end, made.length));
        case 2 ->
            made = joined(Arrays.copyOf(made, end), Arrays.copyOfRange(made, at, made.length));
        default -> made = Arrays.copyOf(made, at);
      }
    }
    return made;
  }

  static byte[] joined(byte[]... parts) {
    byte[] made = new byte[Stream.of(parts).mapToInt(part -> part.length).sum()];
    int at = 0;
    for (byte[] part : parts) {
      System.arraycopy(part, 0, made, at, part.length);
      at += part.length;
    }
    return made;
  }

  /** A registry that a test plays. */
  interface Played {
    /** What the next who watches is answered. It ends what he watches when he has had it all. */
    void next(boolean good);
  }

  /**
   * Has a client watch a registry again and again: at first the answers are good, then spoilt, then
   * good. Each time it ends by a failure that is told; never is there a set of none, no thread
   * stays behind, and in the end the client knows what there is.
   */
  static void watch(Source source, Played registry, int rounds, String seed) throws Exception {
    List<String> failures = new ArrayList<>();
    List<Thread> before = new ArrayList<>();
    CompletableFuture<Void> done = new CompletableFuture<>();
    CountDownLatch over = new CountDownLatch(1);
    Source again =
        (service, watcher) -> {
          try {
            for (int round = 0; round <= rounds + 1; round++) {
              registry.next(round == 0 || round > rounds);
              try {
                source.watch(service, watcher);
              } catch (IOException failure) { // and nothing else
                failures.add(String.valueOf(failure.getMessage()));
              }
              if (round == 0) {
                before.addAll(Thread.getAllStackTraces().keySet());
              }
            }
            done.complete(null);
          } catch (Throwable fault) {
            done.completeExceptionally(fault);
          }
          over.await();
        };
    Seen seen = new Seen();
    try (Client client =
        Client.builder("registry:" + SERVICE)
            .resolver("registry", Registry.resolver(again))
            .balancer(seen)
            .dialer((address, endpoint) -> new CompletableFuture<>()) // reaches nobody
            .build()) {
      Method<byte[], byte[]> never = Method.unary("/s/Never", Codec.raw(), Codec.raw());
      // A call that waits looks at each set.
      client.unary(never, new byte[0], CallOptions.NONE.withWaitForReady(true));
      done.get(180, TimeUnit.SECONDS);
      assertEquals(rounds + 2, failures.size(), seed);
      failures.forEach(one -> assertFalse(one.isBlank() || one.equals("null"), seed));
      await(() -> seen.ids.equals(IDS), () -> seed + ": the client knows " + seen.ids);
      assertFalse(seen.none, seed);
      await(
          () -> left(before) <= FEW,
          () -> seed + ": threads stay: " + Thread.getAllStackTraces().keySet());
    } finally {
      over.countDown();
    }
  }

  /** How the first look at a registry ends. */
  static String failure(Source source) throws InterruptedException {
    BlockingQueue<String> said = new ArrayBlockingQueue<>(1);
    CountDownLatch over = new CountDownLatch(1);
    Source once =
        (service, watcher) -> {
          try {
            source.watch(service, watcher);
          } catch (IOException failure) {
            said.add(String.valueOf(failure.getMessage()));
          }
          over.await();
        };
    try (Client client =
        Client.builder("registry:" + SERVICE)
            .resolver("registry", Registry.resolver(once))
            .build()) {
      Thread asking =
          new Thread(
              () -> {
                try {
                  client.connect(); // which has it ask
                } catch (StatusException closed) {
                  // When the test is over.
                }
              });
      asking.setDaemon(true);
      asking.start();
      return String.valueOf(said.poll(60, TimeUnit.SECONDS));
    } finally {
      over.countDown();
    }
  }

  private static long left(List<Thread> before) {
    Set<Thread> now = Thread.getAllStackTraces().keySet();
    return now.stream().filter(one -> !before.contains(one)).count();
  }

  private static void await(BooleanSupplier holds, Supplier<String> what)
      throws InterruptedException {
    for (long end = System.nanoTime() + 60_000_000_000L; System.nanoTime() < end; ) {
      if (holds.getAsBoolean()) {
        return;
      }
      Thread.sleep(5); // it is asked again, not relied on
    }
    assertTrue(holds.getAsBoolean(), what);
  }

  /** The set that a client has. It is lazy, so that it is given all. */
  private static final class Seen implements Balancer {
    volatile List<String> ids = List.of();
    volatile boolean none;

    @Override
    public boolean lazy() {
      return true;
    }

    @Override
    public Picker balance(List<EndpointState> endpoints) {
      none |= endpoints.isEmpty();
      ids = endpoints.stream().map(one -> one.endpoint().id()).toList();
      return Balancer.first().balance(endpoints);
    }
  }
}
