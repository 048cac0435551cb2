package io.trunkcall.registry;

/**
 * The time in which somebody has looked at files, by which their leases are measured (registry.md
 * 7.4). Used by one thread.
 */
final class LookedTime {
  private static final long AWAY = 5_000_000; // µs: a longer pause between two looks does not count

  private long micros;
  private long last = -1;

  /** Goes on to the next look, at a time in µs. */
  void pass(long now) {
    if (last >= 0 && now - last <= AWAY) {
      micros += now - last;
    }
    last = now;
  }

  /** How long it was, in µs. */
  long micros() {
    return micros;
  }
}
