package io.trunkcall.internal.policy;

import io.trunkcall.internal.policy.TripRules.Outcome;
import java.util.function.IntSupplier;

/** Decides whether attempts of a method are made (policy.md 10). It is closed at first. */
public final class Breaker {
  /** What a breaker does. */
  public enum State {
    CLOSED,
    OPEN,
    HALF_OPEN
  }

  private final BreakerRules rules;
  private final Trip trip;
  private final Numbers.Latest clock = new Numbers.Latest();
  private State state = State.CLOSED;
  private long number = 1; // of the state
  private long until; // the end of OPEN; of HALF_OPEN when other probes are allowed
  private long probes; // allowed in this state
  private long successes; // of these

  /** Made by rules. */
  public Breaker(BreakerRules rules) {
    this.rules = rules;
    trip = new Trip(rules.trip());
  }

  /** What it did at its last event. */
  public State state() {
    return state;
  }

  /**
   * The number to tell the end of an attempt with, if one may be made; else, below 0, the time
   * until it may be asked again.
   */
  public long ask(long time) {
    long now = clock.at(time);
    if (state == State.CLOSED) {
      return number;
    }
    if (now >= until) {
      become(State.HALF_OPEN, now + rules.open());
    }
    if (state == State.HALF_OPEN && probes < rules.probes()) {
      probes++;
      return number;
    }
    return now - until;
  }

  /** Tells how an attempt ended that was allowed with a number. Draws one if it opens. */
  public void ended(long time, long asked, Outcome outcome, IntSupplier random) {
    long now = clock.at(time);
    if (asked != number || state == State.OPEN) { // no attempt has the number of that state
      return;
    }
    if (state == State.CLOSED) {
      if (trip.ended(now, outcome)) {
        open(now, random);
      }
      return;
    }
    switch (outcome) {
      case FAILURE -> open(now, random);
      case NEITHER -> probes--;
      case SUCCESS -> {
        if (++successes == rules.probes()) {
          become(State.CLOSED, 0);
        }
      }
    }
  }

  private void open(long now, IntSupplier random) {
    become(State.OPEN, now + rules.open() + Numbers.part(rules.open() / 5, random));
  }

  private void become(State next, long end) {
    state = next;
    until = end;
    probes = 0;
    successes = 0;
    number++;
    trip.clear();
  }
}
