package io.trunkcall;

import java.time.Duration;

/**
 * What a connection has at the moment.
 *
 * @param age since it was opened
 * @param roundTrip what its last PING took; zero before one was answered
 * @param callsMade open calls of this side
 * @param callsServed open calls of the other side
 * @param waitingCalls calls that wait for a slot of this connection and no other
 * @param unsentBytes bytes that wait to be written
 * @param heldBytes bytes held for the other side, unsentBytes included
 * @param withheldCredit how many bytes less the other side may send on open streams because
 *     messages were not consumed
 * @param poolBytes granted to the other side beyond its windows
 * @param poolHeldBytes those of them that lie in messages that were not consumed
 * @param peerPoolBytes what this side may still send beyond the windows of streams
 * @param error why it is over, or is ending; empty while it is not
 */
public record ConnectionGauges(
    State state,
    Duration age,
    Duration roundTrip,
    int callsMade,
    int callsServed,
    int waitingCalls,
    long unsentBytes,
    long heldBytes,
    long withheldCredit,
    long poolBytes,
    long poolHeldBytes,
    long peerPoolBytes,
    String error) {

  /** How a connection is. */
  public enum State {
    /** It takes calls. */
    OPEN,
    /** It takes no more calls. */
    DRAINING,
    /** It is over. */
    CLOSED
  }
}
