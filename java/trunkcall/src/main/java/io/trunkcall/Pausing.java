package io.trunkcall;

/** A call that makes no attempt for now. On the loop. */
interface Pausing {
  /** Its client is closed. */
  void closed();
}
