package io.trunkcall;

import io.trunkcall.internal.transport.Clock;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** The call that the handler on this thread serves, and what it says of deadlines. */
final class CurrentCall {
  private static final ThreadLocal<@Nullable ServerCall> CURRENT = new ThreadLocal<>();

  /** That whose deadline does not hold for the calls that are made in it. */
  private static final ThreadLocal<@Nullable ServerCall> UNTIMED = new ThreadLocal<>();

  private CurrentCall() {}

  static @Nullable ServerCall get() {
    return CURRENT.get();
  }

  /** Gives the one before. */
  static @Nullable ServerCall set(@Nullable ServerCall call) {
    ServerCall before = CURRENT.get();
    CURRENT.set(call);
    return before;
  }

  static void runUntimed(ServerCall call, Runnable task) {
    ServerCall before = set(call);
    ServerCall untimed = UNTIMED.get();
    UNTIMED.set(call);
    try {
      task.run();
    } finally {
      UNTIMED.set(untimed);
      set(before);
    }
  }

  /** When the handler's own call has to end, in µs of the sessions' clock; 0: never. */
  static long inherited() {
    ServerCall parent = CURRENT.get();
    return parent == null || UNTIMED.get() == parent ? 0 : deadlineOf(parent);
  }

  /**
   * When a call made now has to end, in µs of the sessions' clock; 0: never. {@code timeout} is in
   * µs, 0 or {@link CallOptions#ENDLESS}: none. What is inherited is forwarded.
   */
  static long deadline(long timeout, long inherited) {
    if (timeout == 0 || timeout >= CallOptions.ENDLESS / 8) {
      return inherited;
    }
    long own = timeout < 0 ? 1 : Math.max(Clock.micros() + timeout, 1);
    return inherited == 0 ? own : Math.min(own, inherited);
  }

  private static long deadlineOf(ServerCall parent) {
    if (parent instanceof ServingCall serving) {
      return serving.deadlineMicros();
    }
    Duration left = parent.timeRemaining();
    return left == null ? 0 : Math.max(Clock.micros() + Checks.micros("deadline", left), 1);
  }
}
