package io.trunkcall.internal.transport;

import java.time.Duration;

/**
 * The time of a loop, and what is to be done on it. Tests have one of their own, in which time
 * passes at once.
 */
public interface Clockwork {
  /** Nanoseconds of a clock that does not jump. Any thread may ask. */
  long nanos();

  /** Has something done on the loop, later. Any thread may ask for it. */
  void execute(Runnable work);

  /** Has something done on the loop once a time has passed. On the loop only. */
  Timer after(Duration time, Runnable work);

  /** Something that is to be done later. */
  interface Timer {
    /** Has it not done, if it was not begun. On the loop only. */
    void cancel();
  }
}
