/**
 * Reads policy files and decides by them, as spec/policy.md says: when a call is made again,
 * hedged, refused or sent elsewhere. Not for users.
 *
 * <p>Each core (Retries, Hedging, Breaker, Outliers, Rate, Concurrency, zones, faults for drills)
 * is given times, events and random numbers, and gives decisions. It has no clock, thread or lock:
 * whoever shares one between threads guards it. Times and durations are nanoseconds, times since an
 * origin of the caller's, not below 0, by a clock that does not jump; one before the last counts as
 * the last.
 */
@NullMarked
package io.trunkcall.internal.policy;

import org.jspecify.annotations.NullMarked;
