package io.trunkcall.consul;

import java.io.IOException;
import java.time.Duration;

/** Publishes records, and renews them. Used by one thread. */
abstract class Keeping {
  static final int RENEWS = 3; // in a lease

  static final byte[] NOTHING = {};

  final Agent agent;
  final Duration lease;

  Keeping(Agent agent, Duration lease) {
    this.agent = agent;
    this.lease = lease;
  }

  /** Until the thread is interrupted; then it withdraws them. */
  final void keep(Runnable published) throws IOException, InterruptedException {
    try {
      put();
      published.run();
      Duration pause = third();
      while (true) {
        Thread.sleep(Math.max(pause.toMillis(), 0));
        long began = System.nanoTime();
        pause = renew().minusNanos(System.nanoTime() - began);
      }
    } catch (InterruptedException end) {
      withdraw();
    } catch (IOException fault) {
      if (!Thread.interrupted()) { // who is, while it reads an answer, is told so by a fault
        throw fault;
      }
      withdraw();
    }
  }

  /** The time from one renewal to the next. */
  final Duration third() {
    return lease.dividedBy(RENEWS);
  }

  /** Publishes the records. Throws RegistryException where another server is published. */
  abstract void put() throws IOException, InterruptedException;

  /**
   * Says that the server is alive, and returns how long behind its beginning that is to be done
   * again. Throws if a record is lost.
   */
  abstract Duration renew() throws IOException, InterruptedException;

  /** Withdraws what is its own, if anything was published. */
  abstract void withdraw() throws IOException, InterruptedException;
}
