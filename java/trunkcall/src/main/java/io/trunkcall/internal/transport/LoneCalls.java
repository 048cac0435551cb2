package io.trunkcall.internal.transport;

/**
 * Whether the calls of a loop come one at a time: when the loop's thread is to stand aside for
 * callers, and when it is to run handlers by itself. Of whoever turns the loop.
 */
public final class LoneCalls extends Apart {
  /** What is done about such calls, for all loops of the process. */
  enum Mode {
    /** They go from thread to thread as all others do. */
    OFF,
    /** One thread does what it can, and sleeps where it waits. */
    SLEEP,
    /** The same, and looks for a moment whether something comes before it sleeps. */
    SPIN;

    private static final String PROPERTY = "io.trunkcall.lone";

    /** As the system property says, {@link #SPIN} unless it does. */
    static final Mode SET = of(System.getProperty(PROPERTY, "spin"));

    static Mode of(String name) {
      for (Mode one : values()) {
        if (one.name().equalsIgnoreCase(name)) {
          return one;
        }
      }
      Carrier.LOG.log(
          System.Logger.Level.WARNING,
          "-D" + PROPERTY + "=" + name + ": want off, sleep or spin; it is taken for spin");
      return SPIN;
    }
  }

  private static final int LEAST = 32; // calls in a row
  private static final int MOST = 1_024;

  /**
   * µs from the end of a call to the end of the next one at most, or from one that is served to the
   * next: to look for what comes costs more than to be woken where it comes seldom. Tests set it.
   */
  static volatile long apart = 500;

  private static final int EARLY = 8; // times that it is tried again at once
  private static final int WORTH = 100; // calls for which to stand aside was right

  private final TurnLoop loop;
  private int channels; // of clients, over sockets
  private int open; // calls of this side
  private boolean alone; // no other was open since the one that is
  private long endedBefore; // by Clock
  private int inRow;
  private int needed = LEAST;
  private long ledBefore;
  private int early; // times that the next call came before the loop's thread stood aside
  private boolean standAside;

  private int served; // calls of the other side
  private long servedBefore; // by Clock
  private int servedInRow;

  LoneCalls(TurnLoop loop) {
    this.loop = loop;
  }

  /** A client's connection over a socket is there, or is gone. */
  void channel(int more) {
    channels += more;
  }

  /** A call of this side begins. */
  public void begins() {
    alone = ++open == 1;
    if (!alone) {
      inRow = 0;
    }
  }

  /** It has ended. {@code waited}: for by a thread that could turn the loop. */
  public void ended(boolean waited) {
    open--;
    if (!waited || !alone) {
      inRow = 0;
      return;
    }
    long now = Clock.micros();
    if (now - endedBefore > apart) {
      inRow /= 2;
    } else if (++inRow >= needed
        && Mode.SET != Mode.OFF
        && loop.isLeadable()
        && loop.getNumOfRegisteredChannels() == channels) {
      standAside = true;
    }
    endedBefore = now;
  }

  /** Whether so few have come in so many ns that waiting for them costs more than to be woken. */
  static boolean areFew(long calls, long nanos) {
    return nanos / 1_000 / apart > calls;
  }

  /** Whether calls of this side are open. */
  boolean isOpen() {
    return open > 0;
  }

  /** Whether more than one call of this side is open. */
  boolean areSeveral() {
    return open > 1;
  }

  /** Whether the loop's thread is to stand aside now. */
  boolean letsStandAside() {
    if (!standAside) {
      return false;
    }
    standAside = false;
    inRow = 0;
    ledBefore = loop.leads();
    return open == 0;
  }

  /** It has done so, and is back. */
  void stoodAside() {
    standAside = false; // led calls count as well
    long led = loop.leads() - ledBefore;
    if (led == 0 && ++early < EARLY) {
      inRow = needed - 1;
    } else {
      early = 0;
      inRow = 0;
      needed = led >= WORTH ? LEAST : Math.min(needed * 2, MOST);
    }
  }

  /** A call of the other side is served. Whether they have come one at a time for a while. */
  public boolean serves() {
    if (++served > 1) {
      servedInRow = 0;
      return false;
    }
    long now = Clock.micros();
    servedInRow =
        now - servedBefore > apart ? servedInRow / 2 : Math.min(servedInRow + 1, 4 * LEAST);
    servedBefore = now;
    return servedInRow > LEAST && Mode.SET != Mode.OFF;
  }

  /** It has been answered. */
  public void answered() {
    served--;
  }
}
