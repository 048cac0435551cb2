package io.trunkcall.internal.client;

import io.trunkcall.Delivery;
import java.util.concurrent.locks.ReentrantLock;

/**
 * What became of a call each time that its interceptors went on (client.md 5). Any thread may use
 * it; the lock is held for a moment.
 */
public final class Attempts {
  private final ReentrantLock lock = new ReentrantLock();
  private boolean wentOn;
  private int underWay;
  private Delivery ended = Delivery.NOT_SENT; // that promises least, of those that ended

  /** The interceptors go on. */
  public void begin() {
    lock.lock();
    try {
      wentOn = true;
      underWay++;
    } finally {
      lock.unlock();
    }
  }

  /** What they went on with has ended. */
  public void end(Delivery delivery) {
    lock.lock();
    try {
      underWay--;
      ended = least(ended, delivery);
    } finally {
      lock.unlock();
    }
  }

  /** Whether they ever went on. */
  public boolean wentOn() {
    lock.lock();
    try {
      return wentOn;
    } finally {
      lock.unlock();
    }
  }

  /** What the call has, of several attempts. */
  public Delivery delivery() {
    lock.lock();
    try {
      return underWay > 0 ? least(ended, Delivery.UNKNOWN) : ended;
    } finally {
      lock.unlock();
    }
  }

  /** The delivery that promises least: whoever is told it repeats the call least. */
  public static Delivery least(Delivery one, Delivery other) {
    return promise(one) <= promise(other) ? one : other;
  }

  private static int promise(Delivery delivery) {
    return switch (delivery) {
      case EXECUTED -> 0;
      case UNKNOWN -> 1;
      case REFUSED -> 2;
      case NOT_SENT -> 3;
    };
  }
}
