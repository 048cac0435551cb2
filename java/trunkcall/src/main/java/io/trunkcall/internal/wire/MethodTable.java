package io.trunkcall.internal.wire;

import org.jspecify.annotations.Nullable;

/** The methods that a session serves. */
@FunctionalInterface
public interface MethodTable {
  /** No methods. */
  MethodTable EMPTY = name -> null;

  /**
   * The method of a name, null if it is not served. A session asks until it is given one, once for
   * each id that its peer defines and for each call that has the name in its body. So methods may
   * be added while sessions run, but not taken away.
   */
  @Nullable ServedMethod find(String name);
}
