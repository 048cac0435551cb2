package io.trunkcall;

/**
 * What a server or a client has at the moment, and counts since it was made.
 *
 * @param connections connections that are up, those included that end
 * @param callsMade open calls of this side
 * @param callsServed open calls of the other sides. A handler that outlives its call is not among
 *     them
 * @param runningHandlers handlers that run, those included whose call was ended already
 * @param oneWayHandlers those of them that serve one-way calls, whose callers have been answered
 * @param waitingCalls calls of this side that wait for a connection or a free slot
 * @param unsentBytes bytes that wait to be written
 * @param heldBytes bytes held for the other sides, which count against the memory: of messages that
 *     have not arrived whole or were not consumed, of answers that wait, and unsentBytes
 * @param withheldCredit how many bytes less the other sides may send on open streams because
 *     messages were not consumed
 * @param poolBytes bytes granted to the other sides as pools of their connections
 * @param poolHeldBytes those of them that lie in messages that were not consumed
 * @param refused calls that were never started; their callers were told
 * @param cutOff calls that were ended without their handler; their callers were told
 * @param oneWayFailures one-way calls whose handler failed, of which nobody was told
 * @param rejectedConnections connections that a server closed for what they began with
 * @param connectFailures a client's attempts to connect that failed
 * @param droppedEvents events that observers were not told of, because too many waited behind one
 *     that blocks
 */
public record Gauges(
    int connections,
    int callsMade,
    int callsServed,
    int runningHandlers,
    int oneWayHandlers,
    int waitingCalls,
    long unsentBytes,
    long heldBytes,
    long withheldCredit,
    long poolBytes,
    long poolHeldBytes,
    long refused,
    long cutOff,
    long oneWayFailures,
    long rejectedConnections,
    long connectFailures,
    long droppedEvents) {}
