package io.trunkcall.consul;

import java.io.IOException;
import java.time.Duration;

/** Publishes records, and renews them. Used by one thread. */
abstract class Keeping {
  private static final int RENEWS = 3; // in a lease

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
      while (true) {
        Thread.sleep(each().toMillis());
        renew();
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
  final Duration each() {
    return lease.dividedBy(RENEWS);
  }

  /** Publishes the records. Throws RegistryException where another server is published. */
  abstract void put() throws IOException, InterruptedException;

  /** Says that the server is alive. Throws if a record is lost. */
  abstract void renew() throws IOException, InterruptedException;

  /** Withdraws what is its own, if anything was published. */
  abstract void withdraw() throws IOException, InterruptedException;
}
