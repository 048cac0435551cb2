package io.trunkcall.spring;

import io.trunkcall.Policy;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * What holds for the calls of one method.
 *
 * @param timeout A call ends after this time at the latest.
 * @param waitForReady Whether a call waits for a connection until its deadline, instead of failing.
 * @param repeat Whether a call that provably was not run is made once more.
 */
public record MethodSettings(
    @Nullable Duration timeout, @Nullable Boolean waitForReady, @Nullable Boolean repeat) {

  /** The policy for a method, a service, or all; null: nothing is said. */
  @Nullable Policy policy(String of) {
    return timeout == null && waitForReady == null && repeat == null
        ? null
        : new Policy(of, timeout, waitForReady, repeat);
  }
}
