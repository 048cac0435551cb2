package io.trunkcall;

import io.netty.channel.EventLoop;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/** What has calls under a policy file go on after a time, which tests give. */
interface Timers {
  /** Those of the loops. */
  Timers REAL = (loop, nanos, work) -> loop.schedule(work, nanos, TimeUnit.NANOSECONDS);

  /** Has something done on a loop, unless it is cancelled before. */
  Future<?> after(EventLoop loop, long nanos, Runnable work);
}
