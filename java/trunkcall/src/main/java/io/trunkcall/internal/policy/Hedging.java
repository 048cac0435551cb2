package io.trunkcall.internal.policy;

import io.trunkcall.Code;
import io.trunkcall.Delivery;
import java.util.BitSet;
import org.jspecify.annotations.Nullable;

/** Decides about the attempts of one call that is hedged (policy.md 9). They count from 1. */
public final class Hedging {
  private final HedgeRules rules;
  private final Budget budget;
  private final long deadline;
  private final Numbers.Latest clock = new Numbers.Latest();
  private final BitSet running = new BitSet();
  private long next; // when the next attempt may start
  private boolean over; // no further attempt starts
  private int started = 1;
  private Delivery least = Delivery.NOT_SENT; // of the attempts that have ended
  private int last; // the attempt that ended last, and how
  private @Nullable Ended lastEnd;
  private boolean finished;

  /**
   * What happens now.
   *
   * @param start an attempt that starts; 0: none
   * @param look when to look again; -1: not
   * @param finish the attempt that the call ends with; 0: it goes on
   * @param delivery of a call that is finished
   */
  public record Decision(int start, long look, int finish, Delivery delivery) {}

  /** Begins a call, whose first attempt starts. A deadline below 0 is none. */
  public Hedging(HedgeRules rules, Budget budget, long now, long deadline) {
    this.rules = rules;
    this.budget = budget;
    this.deadline = deadline < 0 ? Long.MAX_VALUE : deadline;
    clock.at(now);
    next = now + rules.delay();
    running.set(1);
    budget.made(now, 1);
  }

  /** The decision of the beginning. */
  public Decision begun() {
    return goesOn(1);
  }

  /**
   * Starts an attempt if it is time for one. It finishes the call if none runs and none can start
   * any more.
   */
  public Decision look(long time) {
    long now = clock.at(time);
    return finished ? goesOn(0) : goOn(now);
  }

  private Decision goOn(long now) {
    int start = start(now);
    Ended end = lastEnd;
    return end != null && running.isEmpty() && nextLook() < 0 ? finish(last, end) : goesOn(start);
  }

  /**
   * Decides when an attempt has ended. What is told of a call that is finished, or of an attempt
   * that does not run, changes nothing.
   */
  public Decision ended(long time, int attempt, Ended end) {
    long now = clock.at(time);
    if (finished || !running.get(attempt)) {
      return goesOn(0);
    }
    running.clear(attempt);
    last = attempt;
    lastEnd = end;
    least = Ended.least(least, end.delivery());
    if (end.code() == Code.OK || rules.stop().has(end.code())) {
      return finish(attempt, end);
    }
    next = now;
    if (end.isRefused() && end.retryAfter() > 0) {
      next += end.retryAfter();
    } else if (end.isRefused() || (end.isNotSent() && !end.lost())) {
      over = true;
    }
    return goOn(now);
  }

  private Decision goesOn(int start) {
    return new Decision(start, nextLook(), 0, Delivery.UNKNOWN);
  }

  private Decision finish(int attempt, Ended end) {
    finished = true;
    Delivery delivery = end.delivery();
    if (end.code() != Code.OK) {
      delivery = running.isEmpty() ? least : Ended.least(least, Delivery.UNKNOWN);
    }
    return new Decision(0, -1, attempt, delivery);
  }

  /** Starts an attempt if one may start now; 0 if none may. */
  private int start(long now) {
    if (now < next || nextLook() < 0) {
      return 0;
    }
    if (now >= deadline || !budget.take(now)) {
      over = true;
      return 0;
    }
    started++;
    running.set(started);
    next = now + rules.delay();
    return started;
  }

  /** When an attempt can start next; -1 if none can. */
  private long nextLook() {
    return finished || over || started >= rules.attempts() || next >= deadline ? -1 : next;
  }
}
