package io.trunkcall;

/**
 * An endpoint as balancers and pickers see it. What it says changes with the calls that are made;
 * any thread may ask. Those of a client are made by the client; tests of balancers make their own.
 */
public interface EndpointState {
  /** What it is the state of. */
  Endpoint endpoint();

  /** Whether it can be called now. */
  State state();

  /** How many calls this client has open there. */
  int calls();

  /**
   * A moving mean, in nanoseconds, of how long the unary calls took that were picked for it; -1 if
   * none ended within the last ten seconds.
   */
  long latencyNanos();

  /** How many attempts to connect have failed in a row. */
  int failures();
}
