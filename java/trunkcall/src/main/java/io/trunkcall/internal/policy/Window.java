package io.trunkcall.internal.policy;

import java.util.Arrays;

/** Counts events of the last slices of time (policy.md 6.4). */
final class Window {
  private static final int SLICES = 10;

  private final long slice; // how long each takes
  private final long[] numbers = new long[SLICES]; // of the slice that is counted there
  private final long[] events = new long[SLICES];

  Window(long length) {
    slice = length / SLICES;
  }

  void add(long now, long count) {
    long number = now / slice;
    int at = (int) (number % SLICES);
    if (numbers[at] != number) {
      numbers[at] = number;
      events[at] = 0;
    }
    events[at] += count;
  }

  long sum(long now) {
    long number = now / slice;
    long sum = 0;
    for (int at = 0; at < SLICES; at++) {
      if (numbers[at] > number - SLICES) {
        sum += events[at];
      }
    }
    return sum;
  }

  void clear() {
    Arrays.fill(numbers, 0);
    Arrays.fill(events, 0);
  }
}
