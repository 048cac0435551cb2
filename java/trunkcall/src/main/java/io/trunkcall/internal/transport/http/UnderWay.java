package io.trunkcall.internal.transport.http;

/** How long a message may be on its way: a minute, and a second for each 64 KiB that has passed. */
final class UnderWay {
  static final String LATE = "a message was under way for longer than 60 s and 1 s for each 64 KiB";

  private static final long PATIENCE = 60_000_000; // µs (limits.md 5)
  private static final long STEP = 64 << 10;
  private static final long MORE = 1_000_000; // µs for each step

  private boolean running;
  private long by;
  private long passed;

  void begin(long now) {
    running = true;
    by = now + PATIENCE;
    passed = 0;
  }

  void set(boolean underWay, long now) {
    if (underWay && !running) {
      begin(now);
    } else if (!underWay) {
      running = false;
    }
  }

  void pass(long bytes) {
    passed += bytes;
  }

  void end() {
    running = false;
  }

  boolean late(long now) {
    return running && now > by + passed / STEP * MORE;
  }
}
