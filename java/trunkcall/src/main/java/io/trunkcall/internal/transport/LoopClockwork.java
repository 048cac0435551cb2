package io.trunkcall.internal.transport;

import io.netty.channel.EventLoop;
import java.time.Duration;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;

/** The time of an event loop. */
public final class LoopClockwork implements Clockwork {
  private final EventLoop loop;

  /** The time of {@code loop}. */
  public LoopClockwork(EventLoop loop) {
    this.loop = loop;
  }

  @Override
  public long nanos() {
    return System.nanoTime();
  }

  @Override
  public void execute(Runnable work) {
    loop.execute(work);
  }

  @Override
  public Timer after(Duration time, Runnable work) {
    ScheduledFuture<?> due = loop.schedule(work, time.toNanos(), TimeUnit.NANOSECONDS);
    return () -> due.cancel(false);
  }
}
