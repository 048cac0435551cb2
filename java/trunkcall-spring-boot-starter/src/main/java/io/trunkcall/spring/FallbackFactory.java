package io.trunkcall.spring;

import io.trunkcall.StatusException;

/**
 * Makes what answers in place of a call that has failed.
 *
 * @param <T> the interface of the client
 */
@FunctionalInterface
public interface FallbackFactory<T> {
  /** An object that answers the call that failed so; to throw {@code failure} lets it fail. */
  T create(StatusException failure);
}
