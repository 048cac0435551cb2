package io.trunkcall.internal.wire;

/** How long a message may be on its way: a minute, and a second for each 64 KiB that has passed. */
public final class UnderWay {
  /** Why a message that took longer was given up. */
  public static final String LATE =
      "a message was under way for longer than 60 s and 1 s for each 64 KiB";

  private static final long PATIENCE = 60_000_000; // µs (limits.md 3)
  private static final long STEP = 64 << 10;
  private static final long MORE = 1_000_000; // µs for each step

  private boolean running;
  private long since;
  private long passed;

  /** Whether a message takes too long that has begun then, and of which so much has passed. */
  static boolean late(long since, long passed, long now) {
    return now - since >= PATIENCE + passed * MORE / STEP;
  }

  /** A message begins. */
  public void begin(long now) {
    running = true;
    since = now;
    passed = 0;
  }

  /** One is under way from now on, if none was; or none is. */
  public void set(boolean underWay, long now) {
    if (underWay && !running) {
      begin(now);
    } else if (!underWay) {
      running = false;
    }
  }

  /** Bytes of it have passed. */
  public void pass(long bytes) {
    passed += bytes;
  }

  /** None is under way any more. */
  public void end() {
    running = false;
  }

  /** Whether the one that is under way, if one is, takes too long. */
  public boolean late(long now) {
    return running && late(since, passed, now);
  }
}
