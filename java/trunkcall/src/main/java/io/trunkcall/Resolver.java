package io.trunkcall;

/**
 * Finds the endpoints that a target stands for, and tells of each change: {@code
 * Client.builder("consul:web").resolver("consul", resolver)}.
 */
@FunctionalInterface
public interface Resolver {
  /**
   * Calls {@link Watch#set} with the whole set, at once and whenever it changes, until its thread
   * is interrupted. It may return when no change will come, or when another thread will tell of it.
   * When it throws, or returns before there was a good set, it is called again, later each time.
   *
   * <p>It is called on a thread of its own, and not before the first call of the client. The thread
   * is interrupted when the client is closed, and nobody waits for its end.
   */
  void resolve(Watch watch) throws Exception;
}
