package io.trunkcall.codefirst;

import io.trunkcall.StatusException;
import org.jspecify.annotations.Nullable;

/**
 * Takes the outcome of a call that nobody waits for, as the last parameter of a method of a
 * client's interface.
 */
@FunctionalInterface
public interface Callback<R> {
  /**
   * Is called once, whatever happens, on the thread that the answer came to, which it must not
   * block.
   *
   * @param result what the call brought; null if it failed, and where there is no result
   * @param failure why the call failed, else null
   */
  void ended(@Nullable R result, @Nullable StatusException failure);
}
