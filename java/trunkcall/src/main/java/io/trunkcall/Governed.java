package io.trunkcall;

import io.trunkcall.internal.client.Chooser;
import org.jspecify.annotations.Nullable;

/** What a policy file has stand around a call, behind its interceptors. On the client's loop. */
interface Governed {
  /**
   * Whether an attempt of the call is made now: it has passed what stands before it. If not, the
   * call pauses, and asks again.
   *
   * @throws StatusException if it may not be made: not sent
   */
  boolean admits(OpeningCall call);

  /** Whether each attempt is one of the calls that the loop counts (LoneCalls), or all are one. */
  boolean countsAttempts();

  /** Why a call that pauses has come too late, for people. */
  String late();

  /** How a call ends that pauses when its client is closed; null: as closed ones do. */
  @Nullable StatusException before();

  /** The call is over. */
  void over(Status status);

  /** What pauses go by. */
  Timers timers();

  /** What chooses the endpoints of its attempts; null: the client's balancer. */
  @Nullable Chooser chooser();
}
