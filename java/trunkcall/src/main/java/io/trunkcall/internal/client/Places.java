package io.trunkcall.internal.client;

import java.util.List;

/**
 * Where those of one set stood in the one before. A registry tells ten thousand because one of them
 * came: what is the same object as before is recognised here without looking at it.
 */
final class Places {
  /** For those that did not stand there. */
  static final int NONE = -1;

  /** How many that went in a row are passed over; after more of them the rest counts as new. */
  private static final int AHEAD = 8;

  private Places() {}

  /** The index in {@code before} of each in a set; they ascend, so none is there twice. */
  static int[] of(List<?> set, List<?> before) {
    int[] places = new int[set.size()];
    int next = 0;
    for (int i = 0; i < places.length; i++) {
      Object one = set.get(i);
      int end = Math.min(next + AHEAD, before.size());
      int at = next;
      while (at < end && before.get(at) != one) {
        at++;
      }
      places[i] = at < end ? at : NONE;
      next = at < end ? at + 1 : next;
    }
    return places;
  }
}
