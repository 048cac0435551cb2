package io.trunkcall.internal.client;

import io.trunkcall.Balancer;
import io.trunkcall.Pick;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Function;
import java.util.function.LongSupplier;

/** The balancers that there are without a user's own (client.md 10.1). */
public final class Balancers {
  private Balancers() {}

  /** See {@link Balancer#first}. */
  public static Balancer first() {
    return new First();
  }

  /** See {@link Balancer#roundRobin}. */
  public static Balancer roundRobin() {
    return roundRobin(Balancers::random);
  }

  static Balancer roundRobin(LongSupplier draw) {
    return new RoundRobin(draw.getAsLong(), draw.getAsLong());
  }

  /** See {@link Balancer#leastLoaded}. */
  public static Balancer leastLoaded() {
    return leastLoaded(Balancers::random);
  }

  static Balancer leastLoaded(LongSupplier draw) {
    return new LeastLoaded(draw);
  }

  /** See {@link Balancer#hash(String)}. */
  public static Balancer hash(String entry) {
    return hash(Hash.entry(entry));
  }

  /** See {@link Balancer#hash(Function)}. */
  public static Balancer hash(Function<? super Pick, String> key) {
    return hash(key, Balancers::random);
  }

  static Balancer hash(Function<? super Pick, String> key, LongSupplier draw) {
    return new Hash(key, draw);
  }

  /** Whether a balancer is one of these. Their pickers take any endpoint that is ready. */
  public static boolean isOwn(Balancer balancer) {
    return balancer instanceof First
        || balancer instanceof RoundRobin
        || balancer instanceof LeastLoaded
        || balancer instanceof Hash;
  }

  private static long random() {
    return ThreadLocalRandom.current().nextLong();
  }

  /** A random number of 64 bits as an index below {@code n} (client.md 10.4). */
  static int index(long random, int n) {
    return (int) (Math.multiplyHigh(random, n) + ((random >> 63) & n));
  }
}
