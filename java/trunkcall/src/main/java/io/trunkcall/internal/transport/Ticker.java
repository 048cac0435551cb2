package io.trunkcall.internal.transport;

import io.netty.channel.EventLoop;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/** The one timer of a connection. On its loop. */
final class Ticker {
  private static final long STOOD_STILL = 1_000_000; // µs by which a timer is late when all stood
  private static final long PUT_OFF = 1_000; // µs

  private final EventLoop loop;
  private final LongConsumer work;
  private final Runnable tick = this::tick;
  private @Nullable ScheduledFuture<?> timer;
  private long at = Clock.NEVER;
  private boolean putOff; // it was late, and what is due waits for one more turn of the loop

  /** {@code work} is given the time, and says anew when it is to be called next. */
  Ticker(EventLoop loop, LongConsumer work) {
    this.loop = loop;
    this.work = work;
  }

  /** Has the work done at this time at the latest. */
  void by(long due) {
    if (due < at) {
      arm(due);
    }
  }

  void stop() {
    if (timer != null) {
      timer.cancel(false);
    }
    at = Clock.NEVER;
  }

  private void arm(long due) {
    if (timer != null) {
      timer.cancel(false);
    }
    at = due;
    timer = loop.schedule(tick, Math.max(due - Clock.micros(), 0), TimeUnit.MICROSECONDS);
  }

  private void tick() {
    timer = null;
    long now = Clock.micros();
    if (now - at > STOOD_STILL && !putOff) {
      // The process stood still: what has come meanwhile is read before anybody is judged by the
      // time. Once: on a starved machine every turn of the loop may be so late.
      putOff = true;
      arm(now + PUT_OFF);
      return;
    }
    putOff = false;
    at = Clock.NEVER;
    work.accept(now);
  }
}
