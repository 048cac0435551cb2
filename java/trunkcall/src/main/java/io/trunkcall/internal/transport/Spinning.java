package io.trunkcall.internal.transport;

/**
 * Whether it is worth it to look at the sockets again and again for a moment before a thread
 * sleeps. It is where what is waited for nearly always comes within that moment: to wake a thread
 * takes longer than that. Each moment in vain has the next one, two, four, up to 1,024 waits left
 * out, and each success half as many. Of whoever turns the loop.
 */
final class Spinning {
  /** ns of a moment. */
  static final long MOMENT = 100_000;

  private static final long LATE = 50_000; // ns: until both ends spin it takes longer than later

  /** That count as one moment in vain: so many that both ends are likely to meet in one. */
  private static final int LATE_IN_A_ROW = 32;

  private static final int MOST = 1_024;

  private static final boolean POSSIBLE =
      Runtime.getRuntime().availableProcessors() > 1 && LoneCalls.Mode.SET == LoneCalls.Mode.SPIN;

  private final boolean possible;
  private int leaveOut; // waits behind the next moment in vain, halved
  private int left; // to be left out yet
  private int late;

  Spinning() {
    this(POSSIBLE);
  }

  Spinning(boolean possible) {
    this.possible = possible;
  }

  /** Somebody is about to wait. */
  boolean worthIt() {
    if (left > 0) {
      left--;
      return false;
    }
    return possible;
  }

  /**
   * What was waited for has come, after so many ns: more than a moment where the processor was
   * somebody else's meanwhile, who should rather have had it by a sleep.
   */
  void came(long nanos) {
    if (nanos <= LATE) {
      late = 0;
      leaveOut /= 2;
    } else if (nanos > MOMENT || ++late == LATE_IN_A_ROW) {
      didNotCome();
    }
  }

  void didNotCome() {
    late = 0;
    leaveOut = Math.min(Math.max(2 * leaveOut, 1), MOST);
    left = leaveOut;
  }
}
