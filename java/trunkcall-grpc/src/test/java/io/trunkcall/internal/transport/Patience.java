package io.trunkcall.internal.transport;

/** What tests of stubs set of the loops of the process. */
public final class Patience {
  private static final long APART = LoneCalls.apart;

  private Patience() {}

  /** Calls come soon enough however late they come, so that a busy machine changes nothing. */
  public static void set(boolean patient) {
    LoneCalls.apart = patient ? Long.MAX_VALUE : APART;
  }
}
