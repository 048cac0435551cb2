package io.trunkcall;

import io.trunkcall.internal.wire.LimitException;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeoutException;

/** What handlers that fail make of their calls (spec/status.md 1). */
final class Outcomes {
  private Outcomes() {}

  /** What an exception of a handler, or of admission, makes of a call; others' text stays here. */
  static Status of(ServingCall call, Throwable error, String what) {
    if (error instanceof StatusException given && !given.status().ok()) {
      return given.status();
    }
    if (error instanceof LimitException limit) {
      return Status.of(Code.RESOURCE_EXHAUSTED, String.valueOf(limit.getMessage()));
    }
    boolean over = call.isStopped() || isPast(call);
    if (error instanceof TimeoutException) {
      return Status.of(
          Code.DEADLINE_EXCEEDED,
          over && error.getClass() == TimeoutException.class
              ? "the " + what + " ran out of time"
              : hidden(call, error, what));
    }
    if (error instanceof InterruptedException || error instanceof CancellationException) {
      return Status.of(
          Code.CANCELLED, over ? "the " + what + " was cancelled" : hidden(call, error, what));
    }
    if (error instanceof Error) {
      return Status.of(Code.INTERNAL, told(call, error, what, "panicked"));
    }
    return Status.of(Code.UNKNOWN, hidden(call, error, what));
  }

  private static boolean isPast(ServingCall call) {
    java.time.Duration left = call.timeRemaining();
    return left != null && left.isZero();
  }

  /** Logs what a caller is not told, and gives what it is told of it. */
  static String hidden(ServingCall call, Throwable error, String what) {
    return told(call, error, what, "failed");
  }

  private static String told(ServingCall call, Throwable error, String what, String did) {
    String id = String.format("%016x", ThreadLocalRandom.current().nextLong());
    Serving serving = call.serving();
    serving.journal.log(
        System.Logger.Level.ERROR,
        "a " + what + " failed",
        call.method().name() + ": error " + id,
        error);
    return "the " + what + " " + did + " (error " + id + " in the log of the " + serving.side + ")";
  }

  /** For an answer that its codec does not take. */
  static Status unencodable(ServingCall call, String codec, Throwable error) {
    Serving serving = call.serving();
    if (error instanceof StatusException given && !given.status().ok()) {
      if (given.getCause() != null) { // which may say more than the caller is told
        serving.journal.log(
            System.Logger.Level.ERROR,
            "an answer is not valid",
            call.method().name() + ": " + given.status().message(),
            given.getCause());
      }
      return given.status();
    }
    String id = String.format("%016x", ThreadLocalRandom.current().nextLong());
    serving.journal.log(
        System.Logger.Level.ERROR,
        "an answer is not valid",
        call.method().name() + ": error " + id,
        error);
    return Status.of(
        Code.INTERNAL,
        "the answer is not a valid "
            + codec
            + " message (error "
            + id
            + " in the log of the "
            + serving.side
            + ")");
  }

  /** For a handler, or an interceptor, that has left no answer where there has to be one. */
  static Status noAnswer(ServingCall call) {
    String text = "the handler of " + call.method().name() + " returned null, want a message";
    if (!call.serving().interceptors.isEmpty() && !call.entered()) {
      text = "an interceptor of the " + call.serving().side + " neither went on nor answered";
    }
    call.serving().journal.log(System.Logger.Level.ERROR, "no answer", text, null);
    return Status.of(Code.INTERNAL, text);
  }
}
