package io.trunkcall;

import io.trunkcall.internal.client.Attempts;
import io.trunkcall.internal.client.Chooser;
import io.trunkcall.internal.client.ClientEndpoint;
import io.trunkcall.internal.policy.Ended;
import io.trunkcall.internal.policy.HedgeRules;
import io.trunkcall.internal.policy.Hedging;
import io.trunkcall.internal.transport.LoneCalls;
import io.trunkcall.internal.transport.TurnLoop;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Future;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A unary or one-way call whose attempts may run at once (policy.md 9). Each is a {@link UnaryCall}
 * of its own; all have ended when the call has. On the client's loop, but for the constructor and
 * {@link #cancel}.
 */
final class HedgedCall<R> implements Governed, Runnable, Pausing {
  final CallFuture<Response<R>> result = new CallFuture<>(this::cancel);

  private final Calls calls;
  private final HedgeRules hedging;
  private final GovernedCall once; // what the call passes once
  private final Function<Governed, UnaryCall<R>> make; // an attempt under this
  private final List<UnaryCall<R>> attempts = new ArrayList<>(); // that were made
  private final List<UnaryCall<R>> running = new ArrayList<>();
  private @Nullable Hedging core; // null: the call has not begun
  private Delivery least = Delivery.NOT_SENT; // that promises least, of attempts that have ended
  private @Nullable OpeningCall barred; // the attempt that a breaker refused: none starts behind it
  private @Nullable UnaryCall<R> last; // that ended last, and was not refused if there is one
  private @Nullable UnaryCall<R> decided; // the attempt that the call ends with
  private boolean cancelled;
  private boolean over;
  private @Nullable LoneCalls lone; // where it was counted, once it has begun
  private @Nullable Future<?> timer; // until it is to look again

  HedgedCall(
      Calls calls, GovernedCall once, HedgeRules hedging, Function<Governed, UnaryCall<R>> make) {
    this.calls = calls;
    this.once = once;
    this.hedging = hedging;
    this.make = make;
  }

  /** Begins the call. */
  @Override
  public void run() {
    TurnLoop loop = TurnLoop.of(calls.loop());
    if (loop != null) {
      lone = loop.lone();
      lone.begins();
    }
    start(1).run();
  }

  private UnaryCall<R> start(int number) {
    UnaryCall<R> attempt = make.apply(this);
    attempt.number = number;
    List<ClientEndpoint> tried = places();
    attempt.elsewhere(tried);
    if (!tried.isEmpty()) { // a balancer of the user's knows of one only
      attempt.avoid(tried.get(tried.size() - 1));
    }
    attempts.add(attempt);
    running.add(attempt);
    attempt.result.whenComplete((response, error) -> ended(attempt));
    return attempt;
  }

  /** Where its attempts are, or were. */
  private List<ClientEndpoint> places() {
    List<ClientEndpoint> places = new ArrayList<>();
    for (UnaryCall<R> one : attempts) {
      ClientEndpoint place = one.place();
      if (place != null) {
        places.add(place);
      }
    }
    return places;
  }

  // What stands around each attempt.

  @Override
  public boolean admits(OpeningCall attempt) {
    if (core == null && !once.enter(attempt)) {
      return false;
    }
    long now = once.rules.sources.now();
    if (core == null) {
      Hedging begun =
          new Hedging(hedging, once.rules.budget, now, GovernedCall.deadline(attempt, now));
      core = begun;
      lookAt(begun.begun().look());
    }
    try {
      attempt.passed(new Passage(once.rules, once.begun, now));
    } catch (StatusException refused) {
      barred = attempt;
      throw refused;
    }
    return true;
  }

  @Override
  public boolean countsAttempts() {
    return false; // or one call would be several, and none while it pauses
  }

  @Override
  public String late() {
    return once.late();
  }

  @Override
  public @Nullable StatusException before() {
    return null;
  }

  @Override
  public void over(Status status) {
    // An attempt is, which has told its result.
  }

  @Override
  public Timers timers() {
    return once.timers();
  }

  @Override
  public @Nullable Chooser chooser() {
    return once.chooser();
  }

  // What is decided.

  private void lookAt(long look) {
    Future<?> before = timer;
    if (before != null) {
      before.cancel(false);
      timer = null;
    }
    if (look >= 0) {
      long wait = Math.max(look - once.rules.sources.now(), 0);
      timer = timers().after(calls.loop(), wait, this::look);
    }
  }

  private void look() {
    timer = null;
    Hedging decides = core;
    if (decides != null && decided == null) {
      follow(decides.look(once.rules.sources.now()));
    }
  }

  private void ended(UnaryCall<R> attempt) {
    running.remove(attempt);
    if (last == null || attempt != barred) {
      last = attempt;
    }
    least = Attempts.least(least, attempt.how().delivery());
    Hedging decides = core;
    if (decided != null) {
      complete();
    } else if (decides == null || (cancelled && running.isEmpty())) {
      finish(attempt);
    } else if (!cancelled) {
      Ended end =
          attempt.out() == null
              ? GovernedCall.ended(attempt.how(), false, false)
              : GovernedCall.ended(attempt.how(), calls);
      follow(decides.ended(once.rules.sources.now(), attempt.number, end));
    }
  }

  private void follow(Hedging.Decision decision) {
    if (decision.start() > 0) {
      UnaryCall<R> next = start(decision.start());
      calls.loop().execute(next); // not within the end of another
    }
    lookAt(decision.look());
    if (decision.finish() > 0) {
      finish(attempts.get(decision.finish() - 1));
    } else if (running.isEmpty()) {
      calls.calling.pausing.add(this);
    } else {
      calls.calling.pausing.remove(this);
    }
  }

  /**
   * Ends the call with an attempt, or with that before it if a breaker refused it; the others are
   * cancelled.
   */
  private void finish(UnaryCall<R> attempt) {
    decided = attempt == barred && last != null ? last : attempt;
    lookAt(-1);
    calls.calling.pausing.remove(this);
    if (!running.isEmpty()) {
      least = Attempts.least(least, Delivery.UNKNOWN);
    }
    List.copyOf(running).forEach(OpeningCall::cancelNow);
    complete();
  }

  private void complete() {
    UnaryCall<R> attempt = decided;
    if (attempt == null || over || !running.isEmpty()) {
      return;
    }
    over = true;
    if (lone != null) {
      lone.ended(attempt.waited());
    }
    once.over(attempt.how());
    attempt.result.whenComplete(
        (response, error) -> {
          if (error == null) {
            result.complete(response);
          } else if (error instanceof StatusException failure) {
            result.completeExceptionally(GovernedCall.promising(failure, least));
          } else {
            result.completeExceptionally(error);
          }
        });
  }

  // From outside.

  /** Ends the call with CANCELLED, if it has not ended. Any thread. */
  void cancel() {
    calls.hand(
        () -> {
          cancelled = true;
          lookAt(-1);
          if (running.isEmpty()) {
            closed();
          } else {
            List.copyOf(running).forEach(OpeningCall::cancelNow);
          }
        });
  }

  @Override
  public void closed() {
    if (decided == null && running.isEmpty() && !attempts.isEmpty()) {
      finish(attempts.get(attempts.size() - 1));
    }
  }
}
