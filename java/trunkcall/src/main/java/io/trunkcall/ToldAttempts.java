package io.trunkcall;

import org.jspecify.annotations.Nullable;

/** An attempt observer as those see it who tell it something; there may be none. Any thread. */
final class ToldAttempts {
  private final @Nullable AttemptObserver observer;
  private final DroppedEvents dropped;
  private final Sequence attempts = new Sequence("an attempt observer threw");

  ToldAttempts(@Nullable AttemptObserver observer, DroppedEvents dropped) {
    this.observer = observer;
    this.dropped = dropped;
  }

  /** Whether there is one. */
  boolean wanted() {
    return observer != null;
  }

  /** Tells of a begin. False: there was no room, and nothing is told of the end either. */
  boolean began(CallAttempt attempt) {
    AttemptObserver there = observer;
    boolean told = there != null && attempts.add(() -> there.attemptBegan(attempt));
    if (!told) {
      dropped.add();
    }
    return told;
  }

  /** Tells of the end of an attempt whose begin was told. */
  void ended(CallAttempt attempt, CallAttempt.End end) {
    AttemptObserver there = observer;
    if (there != null) {
      attempts.addToo(
          () -> {
            attempt.end = end;
            there.attemptEnded(attempt);
          });
    }
  }
}
