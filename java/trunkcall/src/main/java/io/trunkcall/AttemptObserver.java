package io.trunkcall;

/**
 * Is told of each attempt to make a call, for those who count and trace. The functions are called
 * on a thread that does nothing else, in order for all attempts of a client or server, mostly
 * within a millisecond or two of what they tell of: the thread is not woken for each event. No call
 * waits for one that blocks; when 10,000 events wait behind it, further attempts are left out with
 * their ends, logged and counted ({@link Gauges#droppedEvents}). What they throw is logged.
 */
public interface AttemptObserver {
  /** An attempt is on its way. */
  void attemptBegan(CallAttempt attempt);

  /** It has ended, and {@link CallAttempt#status} says how. */
  void attemptEnded(CallAttempt attempt);
}
