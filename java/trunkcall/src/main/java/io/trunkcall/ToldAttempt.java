package io.trunkcall;

import io.trunkcall.internal.transport.Clock;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import org.jspecify.annotations.Nullable;

/** An attempt whose begin an observer was told of, until its end. On the loop of its call. */
final class ToldAttempt {
  private final ToldAttempts observer;
  private final CallAttempt attempt;
  private final long given; // to a connection, µs of Clock
  private long sent; // bytes of its messages
  private long received;

  private ToldAttempt(ToldAttempts observer, CallAttempt attempt, long given) {
    this.observer = observer;
    this.attempt = attempt;
    this.given = given;
    this.sent = attempt.sent();
  }

  /** Tells of the begin. Null: nothing is told of the end either. */
  static @Nullable ToldAttempt begun(ToldAttempts observer, CallAttempt attempt, long given) {
    return observer.began(attempt) ? new ToldAttempt(observer, attempt, given) : null;
  }

  void sentMore(int bytes) {
    sent += bytes;
  }

  void receivedMore(int bytes) {
    received += bytes;
  }

  void ended(Status status) {
    Duration took = Duration.of(Clock.micros() - given, ChronoUnit.MICROS);
    observer.ended(attempt, new CallAttempt.End(sent, received, took, status));
  }
}
