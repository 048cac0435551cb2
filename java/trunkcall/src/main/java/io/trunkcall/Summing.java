package io.trunkcall;

import io.trunkcall.internal.wire.Session;

/** Adds up what the sessions of a client or a server have. */
final class Summing {
  private int connections;
  private int made;
  private int served;
  private long unsent;
  private long held;
  private long withheld;
  private long pool;
  private long poolHeld;

  synchronized void add(Session session) {
    connections++;
    made += session.ownCalls();
    served += session.servedCalls();
    unsent += session.unsent();
    held += session.unsent() + session.held();
    withheld += session.withheldCredit();
    pool += session.pool();
    poolHeld += session.poolHeld();
  }

  /** Calls of another protocol, those of a connection or of none. */
  synchronized void addCalls(boolean connected, int calls, long unsentBytes, long heldBytes) {
    connections += connected ? 1 : 0;
    served += calls;
    unsent += unsentBytes;
    held += unsentBytes + heldBytes;
  }

  synchronized Gauges gauges(
      Serving serving, Calling calling, long rejectedConnections, long connectFailures) {
    return new Gauges(
        connections,
        made,
        served,
        serving.load.running(),
        serving.oneWays.size(),
        calling.waiting.get(),
        unsent,
        held,
        withheld,
        pool,
        poolHeld,
        serving.load.refused(),
        serving.load.cutOff(),
        serving.oneWayFailures.sum(),
        rejectedConnections,
        connectFailures,
        calling.dropped.sum());
  }
}
