package io.trunkcall;

import io.trunkcall.internal.client.Chooser;
import io.trunkcall.internal.client.ClientEndpoint;
import io.trunkcall.internal.transport.Carrier;
import io.trunkcall.internal.transport.Clock;
import io.trunkcall.internal.wire.LimitException;
import io.trunkcall.internal.wire.OutgoingCall;
import io.trunkcall.internal.wire.Session;
import java.util.Objects;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A call of this side: how it finds a connection and a slot, and what its session tells of it. On
 * the loop of its connections, but for the constructor and {@link #cancel}.
 */
abstract class OpeningCall extends CountedCall implements Runnable, Pausing {
  final Calls calls;
  final Method<?, ?> method;
  final Metadata metadata;
  final long deadline; // µs of Clock, 0: none
  private final long had; // µs, if the deadline is the end of a timeout of its own; else 0
  private final boolean waitForReady;
  private final @Nullable Governed governed; // under a policy file

  /** Of the attempt. */
  int number = 1;

  private @Nullable OutgoingCall out;
  private @Nullable Carrier carrier;
  private boolean over; // its user was told how it ended
  private boolean cancelled;
  long began; // the attempt was wanted
  private long given; // it was given to a connection
  private long turn; // among those that wait; 0: it does not
  private String waitsFor = "";
  private @Nullable Slots queue; // that it waits in
  private @Nullable Future<?> timer; // while it waits
  private boolean pausing; // until it is made again, or begins
  private @Nullable Passage passage; // under a policy file, until the attempt has ended
  private @Nullable Status how; // it has ended
  private @Nullable ToldAttempt told; // if there is an observer
  private @Nullable ClientEndpoint endpoint; // where the attempt went

  OpeningCall(
      Calls calls,
      Method<?, ?> method,
      Metadata metadata,
      long deadline,
      long had,
      boolean waitForReady,
      @Nullable Governed governed) {
    this.calls = calls;
    this.method = method;
    this.metadata = metadata;
    this.deadline = deadline;
    this.had = had;
    this.waitForReady = waitForReady;
    this.governed = governed;
  }

  // What the kinds of calls differ in.

  /** Opens the call; null if there is no slot. Throws LimitException, IllegalArgumentException. */
  abstract @Nullable OutgoingCall append(Session session);

  /** It was opened. */
  void opened() {}

  /** It could not be opened: once, instead of all else. */
  abstract void failed(StatusException failure);

  /** It has ended: once. */
  abstract void ended(OutgoingCall call, Status status);

  /** Early metadata has come. */
  void header(Metadata metadata) {}

  /** A message has come. */
  void arrived() {}

  /** What was queued is on its way. */
  void writable() {}

  /** Bytes of the message that goes with the CALL. */
  abstract int firstBytes();

  // Opening it.

  @Override
  protected Method<?, ?> method() {
    return method;
  }

  @Override
  protected Metadata metadata() {
    return metadata;
  }

  @Override
  protected @Nullable Chooser chooser() {
    return governed == null ? null : governed.chooser();
  }

  /** Begins an attempt. */
  @Override
  public void run() {
    if (over) {
      return;
    }
    began = Clock.micros();
    if (governed == null || governed.countsAttempts()) {
      count(calls.loop());
    }
    if (cancelled) {
      fail(Code.CANCELLED, "cancelled by the caller");
    } else if (deadline != 0 && deadline <= began) {
      fail(Code.DEADLINE_EXCEEDED, tooLate());
    } else if (governed == null) {
      look();
    } else {
      begin(governed);
    }
  }

  private String tooLate() {
    return governed == null || !pausing
        ? "the deadline had passed when the call began: want a timeout above 0"
        : governed.late() + ": " + Failures.overdue(method, had);
  }

  /** Begins an attempt under a policy file. Throws nothing. */
  private void begin(Governed by) {
    pausing = false;
    calls.calling.pausing.remove(this);
    try {
      if (!by.admits(this)) {
        return;
      }
    } catch (Throwable e) {
      fail(e);
      return;
    }
    look();
  }

  /** An attempt has passed a breaker, which is to know how it ends. */
  void passed(Passage passed) {
    passage = passed;
  }

  /** Has the call begin, or go on, after so many nanoseconds, or when its time is over. */
  void pause(long nanos) {
    long left = deadline == 0 ? nanos : Math.max(deadline - Clock.micros(), 0) * 1_000;
    if (governed != null) {
      pausing = true;
      calls.calling.pausing.add(this);
    }
    Timers timers = governed == null ? Timers.REAL : governed.timers();
    timer =
        timers.after(
            calls.loop(),
            Math.min(nanos, left),
            () -> {
              timer = null;
              run();
            });
  }

  /** Looks for a connection and a slot; waits where there is none now. Throws nothing. */
  void look() {
    try {
      while (!over && !seek()) {
        // Until it is opened, or waits.
      }
    } catch (Throwable e) {
      fail(e);
    }
  }

  /** Whether there is no more to be done now. */
  private boolean seek() {
    queue = null;
    Carrier found = calls.pick(this);
    if (found == null) {
      if (!waitForReady && !calls.hopeful(this)) {
        throw Failures.local(Code.UNAVAILABLE, calls.noConnection(), Delivery.NOT_SENT);
      }
      waitsFor = calls.waitsFor();
      beginToWait();
      calls.watch(this);
      return true;
    }
    if (!found.session().acceptsCalls()) {
      calls.retire(found);
      return false;
    }
    Slots slots = calls.slots(found);
    if (slots.isEmpty() && openOn(found)) {
      return true;
    }
    waitsFor = "a slot";
    beginToWait();
    slots.add(this);
    queue = slots;
    return true;
  }

  private void beginToWait() {
    if (turn == 0) {
      turn = calls.calling.queued();
      if (deadline != 0) {
        long left = Math.max(deadline - Clock.micros(), 0);
        timer = calls.loop().schedule(this::late, left, TimeUnit.MICROSECONDS);
      }
    }
  }

  private void waitNoMore() {
    if (turn != 0) {
      turn = 0;
      calls.calling.waitsNoMore();
      calls.unwatch(this);
      Slots in = queue;
      if (in != null) {
        in.remove(this);
        queue = null;
      }
    }
    if (timer != null) {
      timer.cancel(false);
      timer = null;
    }
    if (pausing) {
      pausing = false;
      calls.calling.pausing.remove(this);
    }
  }

  /** Its turn among those that wait. */
  long turn() {
    return turn;
  }

  private void late() {
    String why = calls.trouble();
    fail(
        Code.DEADLINE_EXCEEDED,
        "the deadline passed before the call was sent, while it waited for "
            + waitsFor
            + ": "
            + Failures.overdue(method, had)
            + (why.isEmpty() ? "" : "; " + why));
  }

  /** A slot may be free on a connection. Whether it was opened, or has failed. Throws nothing. */
  boolean tryOn(Carrier on) {
    try {
      return openOn(on);
    } catch (Throwable e) {
      fail(e);
      return true;
    }
  }

  private boolean openOn(Carrier on) {
    Session session = on.session();
    given = Clock.micros();
    session.setNow(given);
    carrier = on;
    OutgoingCall opened;
    try {
      opened = append(session);
    } catch (LimitException e) {
      throw Failures.local(
          Code.RESOURCE_EXHAUSTED, String.valueOf(e.getMessage()), Delivery.NOT_SENT);
    } catch (IllegalArgumentException e) {
      throw Failures.local(
          Code.INVALID_ARGUMENT, String.valueOf(e.getMessage()), Delivery.NOT_SENT);
    }
    if (opened == null) {
      carrier = null;
      return false;
    }
    waitNoMore();
    if (over) { // it has ended at once
      return true;
    }
    out = opened;
    given();
    endpoint = calls.endpointOf(on);
    if (calls.calling.attempts.wanted()) {
      tell(on);
    }
    opened();
    on.schedule();
    return true;
  }

  // Its end.

  private void fail(Code code, String text) {
    fail(Failures.local(code, text, Delivery.NOT_SENT));
  }

  /**
   * It cannot be opened. Whatever users' code throws that was asked on the way, this call alone
   * ends: others wait behind it.
   */
  private void fail(Throwable thrown) {
    if (thrown instanceof StatusException failure) {
      fail(failure);
      return;
    }
    Journal.LOGGER.log(
        System.Logger.Level.ERROR, method.name() + ": a call could not be opened", thrown);
    OutgoingCall call = out;
    Carrier on = carrier;
    StatusException failure =
        Failures.local(
            Code.INTERNAL,
            "the call could not be opened: " + Failures.spelled(thrown),
            call == null ? Delivery.NOT_SENT : Delivery.UNKNOWN);
    failure.initCause(thrown);
    fail(failure);
    if (call != null && on != null) {
      on.giveUp(call);
    }
  }

  /** It ends without being opened. */
  final void fail(StatusException failure) {
    waitNoMore();
    OutgoingCall call = out;
    if (call != null && !over) {
      finish(call, failure.status());
    }
    unpick();
    Passage passed = passage;
    passage = null;
    if (passed != null) {
      passed.unmade();
    }
    if (!over) {
      over(failure.status());
      failed(failure);
    }
  }

  /** The session tells of the end. */
  void end(OutgoingCall call) {
    Status status = call.status();
    if (over || status == null) {
      return;
    }
    out = call;
    status = Failures.named(status, method, had, carrier);
    finish(call, status);
    if (!again(call, status)) {
      over(status);
      ended(call, status);
    }
  }

  private void over(Status status) {
    over = true;
    how = status;
    countNoMore();
    if (governed != null) {
      governed.over(status);
    }
  }

  /** How it has ended. */
  Status how() {
    return Objects.requireNonNull(how, "it has not ended");
  }

  /** Whether the call is made once more. */
  boolean again(OutgoingCall call, Status status) {
    return false;
  }

  /** Makes the call once more, after so many nanoseconds. */
  void repeat(long nanos) {
    number++;
    avoid(endpoint);
    out = null;
    carrier = null;
    if (nanos <= 0) {
      calls.loop().execute(this);
    } else {
      pause(nanos);
    }
  }

  /** Ends the call with CANCELLED, if it has not ended. Any thread. */
  void cancel() {
    calls.hand(this::cancelNow);
  }

  void cancelNow() {
    cancelled = true;
    OutgoingCall call = out;
    Carrier on = carrier;
    if (over) {
      if (call != null) {
        call.discard();
      }
      if (on != null) {
        on.schedule(); // the credit of what was dropped
      }
    } else if (call == null || on == null) {
      fail(Code.CANCELLED, "cancelled by the caller");
    } else {
      on.giveUp(call);
    }
  }

  /** The client is closed: a call that is not open ends. */
  @Override
  public void closed() {
    StatusException before = pausing && governed != null ? governed.before() : null;
    if (before == null) {
      fail(Code.CANCELLED, Calls.CLOSED);
    } else {
      fail(before);
    }
  }

  boolean isOver() {
    return over;
  }

  @Nullable OutgoingCall out() {
    return out;
  }

  @Nullable Carrier on() {
    return carrier;
  }

  /** Where the attempt is, or was. */
  @Nullable ClientEndpoint place() {
    ClientEndpoint there = picked();
    return there == null ? endpoint : there;
  }

  String peer() {
    Carrier on = carrier;
    return on == null ? "" : on.remote();
  }

  // Those who want to know.

  private void tell(Carrier on) {
    CallAttempt attempt =
        new CallAttempt(
            method,
            number,
            endpoint == null ? null : endpoint.endpoint(),
            on.remote(),
            given - began,
            firstBytes());
    told = calls.calling.attempts.began(attempt, given);
  }

  void sentMore(int bytes) {
    if (told != null) {
      told.sentMore(bytes);
    }
  }

  void receivedMore(int bytes) {
    if (told != null) {
      told.receivedMore(bytes);
    }
  }

  /** The attempt has ended. */
  private void finish(OutgoingCall call, Status status) {
    ended(status);
    Passage passed = passage;
    passage = null;
    if (passed != null) {
      passed.ended(status, carrier == null ? null : calls.endpointOf(carrier), given, deadline);
    }
    ToldAttempt attempt = told;
    told = null;
    if (attempt != null) {
      if (call.hasMessage()) {
        attempt.receivedMore(call.length());
      }
      calls.calling.attempts.ended(attempt, status);
    }
  }
}
