package io.trunkcall.load;

/** Says that no call was made and that the caller makes no more. */
public final class Stopped extends Exception {
  public static final Stopped INSTANCE = new Stopped();

  private Stopped() {
    super("the load is to end", null, false, false);
  }
}
