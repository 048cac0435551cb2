package io.trunkcall;

/**
 * Is told of each attempt to make a call, for those who count and trace. Must not block; what it
 * throws is logged.
 */
public interface AttemptObserver {
  /** An attempt is on its way. */
  void attemptBegan(CallAttempt attempt);

  /** It has ended, and {@link CallAttempt#status} says how. */
  void attemptEnded(CallAttempt attempt);
}
