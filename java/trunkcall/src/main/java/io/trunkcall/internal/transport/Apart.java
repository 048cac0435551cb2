package io.trunkcall.internal.transport;

/**
 * Keeps the fields of what extends it, which change with each call, out of the cache lines of
 * whatever lies in front of it: other threads read that all the time.
 */
@SuppressWarnings("unused")
abstract class Apart {
  private long p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11, p12, p13, p14, p15;
}
