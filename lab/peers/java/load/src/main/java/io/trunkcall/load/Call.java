package io.trunkcall.load;

/**
 * Makes one call, waits for its end and checks the answer. It is only ever used by one thread at a
 * time.
 */
@FunctionalInterface
public interface Call {
  /**
   * @throws Untimed if the call succeeded and is none of those whose times are looked at
   * @throws Stopped if no call was made, and the caller is to make no more
   * @throws Exception if the call failed, or answered something else than it was asked
   */
  void make() throws Exception;
}
