package io.trunkcall.internal.client;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;

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
   * order.
   */
  static int[] ranked(long key, List<String> identities, int most) {
    long[] scores = new long[identities.size()];
    Comparator<Integer> lowestFirst = (a, b) -> Long.compareUnsigned(scores[a], scores[b]);
    PriorityQueue<Integer> best =
        new PriorityQueue<>(
            lowestFirst.thenComparing(
                (a, b) ->
                    Arrays.compareUnsigned(bytes(identities.get(b)), bytes(identities.get(a)))));
    for (int at = 0; at < scores.length; at++) {
      scores[at] = score(key, hashed(bytes(identities.get(at))));
      best.add(at);
      if (best.size() > most) {
        best.remove();
      }
    }
    return best.stream().mapToInt(Integer::intValue).sorted().toArray();
  }

  private static byte[] bytes(String identity) {
    return identity.getBytes(StandardCharsets.UTF_8);
  }
}
