package io.trunkcall;

import java.time.Duration;

/**
 * What became of a pick.
 *
 * @param duration from when the call was given to a connection to its end
 */
public record Outcome(Status status, Duration duration) {}
