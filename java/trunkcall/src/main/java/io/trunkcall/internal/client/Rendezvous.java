package io.trunkcall.internal.client;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Comparator;
import java.util.PriorityQueue;
import java.util.function.IntFunction;

/**
 * Hashes, and which of several endpoints a key belongs to (client.md 10.7). A change of the set
 * moves only what belonged to those that left, or belongs to those that came.
 */
final class Rendezvous {
  private static final long OFFSET = 0xCBF29CE484222325L;
  private static final long PRIME = 0x100000001B3L;

  private Rendezvous() {}

  /** The output function of SplitMix64. */
  static long mixed(long z) {
    z += 0x9E3779B97F4A7C15L;
    z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
    z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
    return z ^ (z >>> 31);
  }

  /** FNV-1a of 64 bits, mixed. */
  static long hashed(byte[] data) {
    long value = OFFSET;
    for (byte one : data) {
      value = (value ^ (one & 0xff)) * PRIME;
    }
    return mixed(value);
  }

  static long hashed(String text) {
    return hashed(bytes(text));
  }

  /** How well a hashed key and a hashed identity fit, to be compared as unsigned. */
  static long score(long key, long identity) {
    return mixed(key ^ identity);
  }

  /**
   * Indexes of those identities, at most {@code most}, that a hashed key belongs to first, in
   * order; of identities with these hashes.
   */
  static int[] ranked(long key, long[] hashes, IntFunction<String> identity, int most) {
    long[] scores = new long[hashes.length];
    Comparator<Integer> lowestFirst = (a, b) -> Long.compareUnsigned(scores[a], scores[b]);
    lowestFirst =
        lowestFirst.thenComparing(
            (a, b) -> Arrays.compareUnsigned(bytes(identity.apply(b)), bytes(identity.apply(a))));
    PriorityQueue<Integer> best = new PriorityQueue<>(lowestFirst);
    for (int at = 0; at < scores.length; at++) {
      scores[at] = score(key, hashes[at]);
      boolean full = best.size() == most;
      if (full && Long.compareUnsigned(scores[at], scores[best.element()]) < 0) {
        continue; // which is so for nearly all of a large set
      }
      best.add(at);
      if (full) {
        best.remove();
      }
    }
    return best.stream().mapToInt(Integer::intValue).sorted().toArray();
  }

  private static byte[] bytes(String identity) {
    return identity.getBytes(StandardCharsets.UTF_8);
  }
}
