package io.trunkcall.load;

import java.time.Duration;

/**
 * How much load to make.
 *
 * @param calls a total for all callers; 0 if the duration ends the run. Calls that were begun are
 *     waited for and counted
 * @param duration zero if the number of calls ends the run
 * @param rate calls a second over all callers, for the open loop; 0 for the closed loop
 * @param warmup how long a closed loop runs before the clock starts; zero for none
 * @param warmupCalls ends the warm-up where that is sooner; 0 for no such bound
 */
public record Config(
    long calls, Duration duration, double rate, Duration warmup, long warmupCalls) {}
