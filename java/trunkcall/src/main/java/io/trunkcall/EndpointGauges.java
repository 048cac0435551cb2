package io.trunkcall;

import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * How a client stands with an endpoint.
 *
 * @param connections those that are there, with those that end
 * @param calls open calls of this side
 * @param latency a moving mean of how long calls took that were picked for it; null if there is
 *     none of late
 * @param failures attempts to connect in a row that have failed
 * @param error why the last of them did; empty if none has
 * @param nextAttempt until the next attempt; zero while one is under way, null if none is needed or
 *     wanted
 * @param ejected the scopes of the policy file that leave it out at the moment, in their order
 */
public record EndpointGauges(
    Endpoint endpoint,
    State state,
    List<ConnectionGauges> connections,
    int calls,
    @Nullable Duration latency,
    int failures,
    String error,
    @Nullable Duration nextAttempt,
    List<String> ejected) {

  /** What is known of an endpoint; the lists are copied. */
  public EndpointGauges {
    connections = List.copyOf(connections);
    ejected = List.copyOf(ejected);
  }
}
