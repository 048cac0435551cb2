package io.trunkcall.internal.transport;

/** A handler that the loop's own thread runs while it lets go of the loop. */
public interface Here {
  /** Runs it; {@code since}: when that began, by System.nanoTime. Returns when it ended. */
  long runHere(long since);

  /** Behind that: it is to be answered. On the loop. */
  void ran();

  /**
   * The same, where the stand-in has turned the loop meanwhile: {@code looked}, because this took
   * long, or else at once for what was handed over. On any thread.
   */
  void overran(boolean looked);

  /** In place of all these: it took too long until its turn came. On the loop. */
  void elsewhere();
}
