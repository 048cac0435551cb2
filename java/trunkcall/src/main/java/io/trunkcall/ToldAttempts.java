package io.trunkcall;

import org.jspecify.annotations.Nullable;

/** An attempt observer as those see it who tell it something; there may be none. Any thread. */
final class ToldAttempts {
  private static final long REST = 1_000_000; // ns

  private final @Nullable AttemptObserver observer;
  private final DroppedEvents dropped;
  private final Sequence attempts = new Sequence("an attempt observer threw", REST);

  ToldAttempts(@Nullable AttemptObserver observer, DroppedEvents dropped) {
    this.observer = observer;
    this.dropped = dropped;
  }

  /** Whether there is one. */
  boolean wanted() {
    return observer != null;
  }

  /**
   * Tells of the begin of an attempt, which was given to a connection then, in µs of Clock. Null:
   * there was no room, and nothing is told of the end either.
   */
  @Nullable ToldAttempt began(CallAttempt attempt, long given) {
    AttemptObserver there = observer;
    if (there != null) {
      ToldAttempt told = new ToldAttempt(there, attempt, given);
      if (attempts.add(told)) {
        return told;
      }
    }
    dropped.add();
    return null;
  }

  /** Tells of the end of an attempt whose begin was told. */
  void ended(ToldAttempt attempt, Status status) {
    attempt.ended(status);
    attempts.addToo(attempt);
  }
}
