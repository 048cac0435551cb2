package io.trunkcall.spring;

import io.trunkcall.ServerBuilder;

/**
 * A bean that sets up the server beyond its properties: an observer, a codec, an executor of one's
 * own. Asked at each start, the last of all.
 */
@FunctionalInterface
public interface ServerCustomizer {
  /** Says more of the server. */
  void customize(ServerBuilder builder);
}
