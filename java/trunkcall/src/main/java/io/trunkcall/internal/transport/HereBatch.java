package io.trunkcall.internal.transport;

import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The handlers that a loop's own thread is to run behind one turn, one after the other, while it
 * lets go of the loop: to hand them over costs more than they do. Who turns the loop meanwhile
 * takes them over but for the one that runs. Of whoever turns the loop, except what says otherwise.
 */
final class HereBatch extends Apart {
  /** ns of handlers behind one turn: so long nobody looks at the loop's other connections. */
  private static final long MOST = 100_000;

  private static final int FIRST = 16; // places
  private static final int WEIGHT = 16; // of what the mean was before, to one
  private static final int DENSE = 32; // calls beyond one in LoneCalls.apart
  private static final int TAKEN = -1;

  private Here[] calls = new Here[FIRST];
  private int size;
  private boolean alone; // the one call is the only one that is served
  private final AtomicInteger at = new AtomicInteger(); // the one that runs; or all are taken over
  private boolean looked; // they were, because it takes long
  private double mean = 30_000; // ns of a call

  private boolean counting; // the turn has begun
  private long counted; // when, by Clock
  private double level; // of calls, less one for each LoneCalls.apart

  boolean isEmpty() {
    return size == 0;
  }

  /** Whether there is but one call, and its connection's loop serves no other. Any thread. */
  boolean isAlone() {
    return alone;
  }

  /** Adds one, unless there are enough, or so few come that another thread should be woken. */
  boolean add(Here call, boolean comesAlone) {
    if (!isDense() && !comesAlone || size > 0 && (size + 1) * mean > MOST) {
      return false;
    }
    if (size == calls.length) {
      calls = Arrays.copyOf(calls, 2 * size);
    }
    alone = comesAlone && size == 0;
    calls[size++] = call;
    return true;
  }

  /** Few calls are not worth the looks of a stand-in. */
  private boolean isDense() {
    if (!counting) {
      counting = true;
      long now = Clock.micros();
      long apart = Math.max(LoneCalls.apart, 1);
      level = Math.max(level - (double) (now - counted) / apart, 0);
      counted = now;
    }
    level = Math.min(level + 1, 2 * DENSE);
    return level >= DENSE && LoneCalls.Mode.SET != LoneCalls.Mode.OFF;
  }

  /** What comes from now on belongs to another turn. */
  void turn() {
    counting = false;
  }

  void begin() {
    at.set(0);
  }

  /** Runs them. By the loop's own thread, which has let go of the loop. */
  void run() {
    long began = System.nanoTime();
    long since = began;
    int ran = 0;
    for (boolean mine = true; mine && ran < size; ran++) {
      Here call = calls[ran];
      try {
        since = call.runHere(since);
      } catch (Throwable thrown) {
        since = System.nanoTime();
        failed(thrown);
      }
      Thread.interrupted(); // what one has left is not for the next
      mine = at.compareAndSet(ran, ran + 1);
      if (!mine) {
        safely(() -> call.overran(looked));
      }
    }
    mean += (Math.min((double) (since - began) / ran, MOST) - mean) / WEIGHT;
  }

  /** None of them is run here. */
  void giveAway() {
    for (int i = 0; i < size; i++) {
      safely(calls[i]::elsewhere);
      calls[i] = null;
    }
    size = 0;
  }

  /**
   * Somebody else turns the loop from now on: answers those that are done, gives away others.
   * {@code byLook}: because the one that runs takes long.
   */
  void takeOver(boolean byLook) {
    looked = byLook;
    int running = at.getAndSet(TAKEN);
    for (int i = 0; i < size && running != TAKEN; i++) {
      Here call = calls[i];
      if (i == running) {
        continue; // its thread has still to look at it
      }
      safely(i < running ? call::ran : call::elsewhere);
      calls[i] = null;
    }
  }

  /** The loop's own thread has it back: answers them, if nobody has. */
  void end() {
    boolean taken = at.get() == TAKEN;
    for (int i = 0; i < size; i++) {
      if (!taken) {
        safely(calls[i]::ran);
      }
      calls[i] = null;
    }
    size = 0;
  }

  /** Whatever one of them throws, the others are not to wait for ever, nor the loop to end. */
  private static void safely(Runnable step) {
    try {
      step.run();
    } catch (Throwable thrown) {
      failed(thrown);
    }
  }

  private static void failed(Throwable thrown) {
    try {
      Carrier.LOG.log(System.Logger.Level.ERROR, "what runs a handler failed", thrown);
    } catch (Throwable again) {
      // There is nobody left to tell.
    }
  }
}
