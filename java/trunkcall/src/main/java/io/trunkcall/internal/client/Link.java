package io.trunkcall.internal.client;

import io.trunkcall.ConnectionGauges;

/**
 * A connection of a client, as the keeping of endpoints sees it. What it says is asked for on the
 * client's loop, {@link #open} on any thread.
 */
public interface Link {
  /**
   * Whether it takes calls. It says that it does not before the connector is told why: see {@link
   * Connector#drained}, {@link Connector#turnedAway} and {@link Connector#lost}.
   */
  boolean usable();

  /** Whether the server has greeted. */
  boolean greeted();

  /** Whether it is gone. */
  boolean lost();

  /** How many calls that were made over it are open. */
  int open();

  /** What changes with each call, in either direction; -1 while one is open. */
  long activity();

  /** When it was opened: nanoseconds of the clockwork. */
  long began();

  /** The other end, for people. */
  String remote();

  /** What is known of a server that has accepted and not spoken; empty if nothing is. */
  String unheard();

  /** Has it take no more calls and close when those have ended that run (client.md 3.1). */
  void drain();

  /** What there is at the moment. */
  ConnectionGauges gauges();
}
