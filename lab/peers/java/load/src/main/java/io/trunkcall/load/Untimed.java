package io.trunkcall.load;

/**
 * The end of a call that succeeded but is none of those whose times are looked at: it counts as a
 * call, and is in no latency.
 */
public final class Untimed extends Exception {
  public static final Untimed INSTANCE = new Untimed();

  private Untimed() {
    super("not to be timed", null, false, false);
  }
}
