package io.trunkcall;

import io.trunkcall.internal.transport.Clock;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import org.jspecify.annotations.Nullable;

/**
 * An attempt whose begin an observer was told of, until its end. On the loop of its call, but for
 * {@link #run}, which tells the observer first of the begin and then of the end.
 */
final class ToldAttempt implements Runnable {
  private final AttemptObserver observer;
  private final CallAttempt attempt;
  private final long given; // to a connection, µs of Clock
  private long sent; // bytes of its messages
  private long received;
  private long took; // µs
  private @Nullable Status status;

  private boolean begun; // the observer was told of the begin; used by the thread that tells it

  ToldAttempt(AttemptObserver observer, CallAttempt attempt, long given) {
    this.observer = observer;
    this.attempt = attempt;
    this.given = given;
    this.sent = attempt.sent();
  }

  @Override
  public void run() {
    if (begun) {
      attempt.end = this;
      observer.attemptEnded(attempt);
    } else {
      begun = true;
      observer.attemptBegan(attempt);
    }
  }

  void sentMore(int bytes) {
    sent += bytes;
  }

  void receivedMore(int bytes) {
    received += bytes;
  }

  void ended(Status how) {
    took = Clock.micros() - given;
    status = how;
  }

  // What is known at the end.

  long sent() {
    return sent;
  }

  long received() {
    return received;
  }

  Duration took() {
    return Duration.of(took, ChronoUnit.MICROS);
  }

  @Nullable Status status() {
    return status;
  }
}
