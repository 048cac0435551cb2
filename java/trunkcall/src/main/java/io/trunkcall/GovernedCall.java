package io.trunkcall;

import io.trunkcall.internal.client.Attempts;
import io.trunkcall.internal.client.Chooser;
import io.trunkcall.internal.client.Repeating;
import io.trunkcall.internal.policy.Concurrency.Sample;
import io.trunkcall.internal.policy.Ended;
import io.trunkcall.internal.policy.FaultRules;
import io.trunkcall.internal.policy.FaultRules.Injected;
import io.trunkcall.internal.policy.Retries;
import io.trunkcall.internal.policy.RetryRules;
import io.trunkcall.internal.transport.Clock;
import org.jspecify.annotations.Nullable;

/**
 * One call under the rules of a policy file: what it passes once (faults for drills, limits), and
 * whether it is made again. It reads its rules at its begin, and ends by them.
 */
final class GovernedCall implements Governed {
  private static final String HELD =
      "the deadline passed while a fault of the policy held the call up";

  final Rules rules;
  final long begun = Clock.micros(); // the call, also where its loop sees it much later
  private final Priority priority;
  private final boolean stream;
  private @Nullable Injected fault; // what was drawn; null: nothing was
  private boolean entered;
  private boolean counted; // in the budget
  private ConcurrencyState.@Nullable Place place;
  private @Nullable Retries retries;
  private Delivery least = Delivery.NOT_SENT; // that promises least, of attempts that have ended
  private @Nullable StatusException last; // how the last attempt has ended

  GovernedCall(Rules rules, Priority priority, boolean stream) {
    this.rules = rules;
    this.priority = priority;
    this.stream = stream;
  }

  @Override
  public boolean admits(OpeningCall call) {
    if (!entered && !enter(call)) {
      return false;
    }
    long now = rules.sources.now();
    if (!counted) {
      counted = true;
      begin(call, now);
    }
    try {
      call.passed(new Passage(rules, begun, now));
    } catch (StatusException open) {
      throw last == null ? open : last; // the call ends as the attempt before did
    }
    return true;
  }

  /**
   * Has a call pass faults for drills and limits; false: it pauses. Throws StatusException if it
   * may not begin.
   */
  boolean enter(OpeningCall call) {
    Injected drawn = fault;
    if (drawn == null && !rules.holds.faults().isEmpty()) {
      drawn = FaultRules.inject(rules.holds.faults(), rules.sources.random());
      fault = drawn;
      if (drawn.delay() > 0) {
        call.pause(drawn.delay());
        return false;
      }
    }
    if (drawn != null && drawn.code() != Code.OK) {
      String text = "fault " + drawn.name() + " of the policy";
      throw Failures.local(drawn.code(), text, Delivery.NOT_SENT);
    }
    RateState rate = rules.rate;
    if (rate != null && rate.take(priority) > 0) {
      throw usedUp(rate.usedUp());
    }
    ConcurrencyState concurrency = rules.concurrency;
    if (concurrency != null) {
      place = concurrency.enter(priority);
      if (place == null) {
        throw usedUp(concurrency.usedUp());
      }
    }
    entered = true;
    return true;
  }

  private static StatusException usedUp(String text) {
    return Failures.local(Code.RESOURCE_EXHAUSTED, text, Delivery.NOT_SENT);
  }

  /** Counts the call in the budget. */
  private void begin(OpeningCall call, long now) {
    RetryRules said = rules.holds.retries();
    if (said == null || call.method.kind().streams()) {
      rules.budget.made(now, 1);
    } else {
      retries = new Retries(said, rules.budget, rules.holds.idempotent(), now, deadline(call, now));
    }
  }

  /** When a call has to end whose attempt begins now, as cores know it; below 0: never. */
  static long deadline(OpeningCall call, long now) {
    return call.deadline == 0 ? -1 : Math.max(now + (call.deadline - call.began) * 1_000, 0);
  }

  /** How an attempt has ended, as cores know it. */
  static Ended ended(Status status, boolean lost, boolean elsewhere) {
    long retryAfter = status.retryAfter().isZero() ? 0 : status.retryAfter().toNanos();
    return new Ended(status.code(), status.delivery(), retryAfter, lost, elsewhere);
  }

  /** How an attempt that was made has ended, for what decides about the next. */
  static Ended ended(Status status, Calls calls) {
    boolean lost =
        status.delivery() == Delivery.NOT_SENT
            && status.code() == Code.UNAVAILABLE
            && calls.mayRepeat(status, true); // elsewhere than over this connection
    return ended(status, lost, calls.elsewhere());
  }

  /**
   * Whether a call whose attempt has ended is made again, and after how many nanoseconds; -1: it is
   * not. {@code failure} is how it ends otherwise.
   */
  long again(UnaryCall<?> call, StatusException failure) {
    Status status = failure.status();
    least = Attempts.least(least, status.delivery());
    last = failure;
    if (call.calls.isClosed()) {
      return -1;
    }
    long now = rules.sources.now();
    Retries core = retries;
    if (core != null) {
      Retries.Decision decided = core.ended(now, ended(status, call.calls), rules.sources.random());
      return decided.end().isEmpty() ? decided.pause() : -1;
    }
    if (call.number > 1 || rules.holds.once() || !call.calls.mayRepeat(status, true)) {
      return -1;
    }
    long left = call.deadline == 0 ? Long.MAX_VALUE : (call.deadline - Clock.micros()) * 1_000;
    long pause = Repeating.pause(status, left, call.calls.elsewhere());
    return pause < 0 || !rules.budget.take(now) ? -1 : pause;
  }

  /** The failure of the call: its delivery is the one that promises least of all attempts. */
  StatusException promising(StatusException failure) {
    return promising(failure, least);
  }

  static StatusException promising(StatusException failure, Delivery least) {
    Status status = failure.status();
    Delivery delivery = Attempts.least(least, status.delivery());
    return delivery == status.delivery()
        ? failure
        : new StatusException(
            status.withDelivery(delivery), failure.trailers(), failure.headers(), failure.peer());
  }

  @Override
  public boolean countsAttempts() {
    return true;
  }

  @Override
  public String late() {
    return entered ? "the deadline passed before the call was made again" : HELD;
  }

  @Override
  public @Nullable StatusException before() {
    return last;
  }

  @Override
  public void over(Status status) {
    ConcurrencyState.Place left = place;
    place = null;
    if (left != null) {
      Sample sample = Sample.of(ended(status, false, false));
      left.leave(stream ? sample.ofStream() : sample);
    }
  }

  @Override
  public Timers timers() {
    return rules.timers;
  }

  @Override
  public @Nullable Chooser chooser() {
    return rules.chooser;
  }
}
