package io.trunkcall.internal.transport;

import java.util.ArrayList;
import java.util.List;

/**
 * The connections of a loop which have something that is to be written, behind the work that there
 * is. Where there are several the sockets are looked at once more before that, and again: what has
 * come meanwhile mostly has callers make further calls, and these share the writes. Bounded, so
 * that nobody waits for it for long. Of whoever turns the loop. Decision 0084.
 */
final class Flushes {
  /** Looks that may put off what is to be written. */
  static final int LOOKS = 4;

  /** ns from the first of them, after which none begins. */
  static final long MOMENT = 50_000;

  private List<Runnable> due = new ArrayList<>();
  private List<Runnable> written = new ArrayList<>(); // empty but within flush
  private boolean putOff; // until the sockets have been looked at
  private int looks;
  private long since; // when it was put off first, by System.nanoTime

  /** Whether nothing was added since {@link #flush}. */
  boolean isEmpty() {
    return due.isEmpty();
  }

  /** Adds what writes a connection. */
  void add(Runnable write) {
    due.add(write);
  }

  /** Whether it is worth it to look at the sockets before it is written; if so it is put off. */
  boolean putOff(long now) {
    if (due.size() < 2 || looks == LOOKS || looks > 0 && now - since > MOMENT) {
      return false;
    }
    since = looks == 0 ? now : since;
    looks++;
    putOff = true;
    return true;
  }

  /** Whether it was put off, and the sockets have not been looked at since. */
  boolean isPutOff() {
    return putOff;
  }

  /** They have been; in vain: then it is not worth it once more. */
  void looked(boolean came) {
    putOff = false;
    looks = came ? looks : LOOKS;
  }

  /** Writes all of them, whatever one of them throws. */
  void flush() {
    looks = 0;
    List<Runnable> all = due;
    due = written;
    written = all;
    try {
      all.forEach(Flushes::safely);
    } finally {
      all.clear();
    }
  }

  private static void safely(Runnable write) {
    try {
      write.run();
    } catch (Throwable thrown) {
      try {
        Carrier.LOG.log(System.Logger.Level.ERROR, "writing to a connection failed", thrown);
      } catch (Throwable again) {
        // There is nobody left to tell.
      }
    }
  }
}
