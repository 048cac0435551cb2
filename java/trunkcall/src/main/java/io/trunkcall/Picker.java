package io.trunkcall;

import org.jspecify.annotations.Nullable;

/** Chooses the endpoint of each call. A client calls it from its loop, so it must not block. */
@FunctionalInterface
public interface Picker {
  /**
   * Returns one of the endpoints that the balancer was given, or null if none will do now. If it is
   * not ready, the call waits, and is picked for again when there is a new picker.
   */
  @Nullable EndpointState pick(Pick call);
}
