package io.trunkcall.registry;

import java.util.List;

/** A source in which servers are published. Any thread may use it. */
public interface Store extends Source {
  /**
   * Puts the bytes of records under their keys, runs {@code published} when they stand there, and
   * keeps them alive until its thread is interrupted. Then it withdraws those that are still its
   * own, in 5 seconds at most, and returns or throws InterruptedException. When it throws something
   * else, also where the records or their lease were lost, it is called again, later each time.
   */
  void keep(List<Written> records, Runnable published) throws Exception;
}
