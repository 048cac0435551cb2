package io.trunkcall;

import io.netty.channel.EventLoop;
import io.trunkcall.internal.policy.Sources;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;

/** A clock that stands until the test has it go on, the pauses that go by it, and chance. */
final class TestTime implements Timers {
  private final List<Due> waiting = new ArrayList<>(); // guarded by this, as is now
  private long now = 1;

  private record Due(long at, EventLoop loop, FutureTask<?> work) {}

  private synchronized long now() {
    return now;
  }

  /** What cores are given. */
  Sources sources() {
    return new Sources(this::now, new Random(1)::nextInt);
  }

  @Override
  public synchronized Future<?> after(EventLoop loop, long nanos, Runnable work) {
    FutureTask<?> task = new FutureTask<>(work, null);
    waiting.add(new Due(now + nanos, loop, task));
    return task;
  }

  private synchronized boolean pauses() {
    waiting.removeIf(one -> one.work.isDone());
    return !waiting.isEmpty();
  }

  /** Waits until something pauses. */
  void untilPause() {
    Pair.until(this::pauses, "nothing pauses");
  }

  /** Has time go on, and what is due done. */
  void advance(Duration time) {
    List<Due> due;
    synchronized (this) {
      now += time.toNanos();
      due = waiting.stream().filter(one -> one.at <= now).toList();
      waiting.removeAll(due);
    }
    for (Due one : due) {
      one.loop.submit(one.work).syncUninterruptibly();
    }
  }
}
