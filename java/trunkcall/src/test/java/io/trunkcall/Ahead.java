package io.trunkcall;

import io.trunkcall.internal.transport.Clock;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;

/** A clock that a test sets forward, in µs. */
final class Ahead implements LongSupplier {
  private final AtomicLong micros = new AtomicLong();

  void by(Duration more) {
    micros.addAndGet(more.toNanos() / 1_000);
  }

  @Override
  public long getAsLong() {
    return Clock.micros() + micros.get();
  }
}
