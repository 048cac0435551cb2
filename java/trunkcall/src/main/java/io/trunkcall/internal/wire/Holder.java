package io.trunkcall.internal.wire;

import org.jspecify.annotations.Nullable;

/** A connection that draws on the memory of all: what its {@link Share} asks of it. */
public interface Holder {
  /** Bytes of output that were not written. */
  long unsent();

  /**
   * Ends the call that has held memory for longest, on the connection's thread. False: nothing is
   * freed, because there is none, or because that is {@code call} itself. If all that it holds is
   * output that its peer does not read, the connection is ended.
   */
  boolean relieve(@Nullable Object call);

  /** From any thread: have {@link Share#relieve} called on the connection's thread, later. */
  void reliefAsked();
}
