package io.trunkcall.peer;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import sun.misc.Signal;

/** The signals that end a program, as they come. From then on they end nothing by themselves. */
final class Signals {
  private static final String DONE = ""; // no signal

  private final BlockingQueue<String> came = new LinkedBlockingQueue<>();

  Signals() {
    for (String name : new String[] {"TERM", "INT"}) {
      Signal.handle(new Signal(name), signal -> came.add(signal.getName()));
    }
  }

  /** Waits for one. */
  void next() throws InterruptedException {
    boolean signal = false;
    while (!signal) {
      signal = !came.take().equals(DONE);
    }
  }

  /** Waits until something is done, or for a signal: whether it is done. */
  boolean awaitDone(CompletableFuture<?> what) throws InterruptedException {
    what.thenRun(() -> came.add(DONE));
    return came.take().equals(DONE);
  }

  /** Drops those that came: a program around this one may have passed the last on once more. */
  void forget() {
    came.clear();
  }

  /** Calls {@code then} at the first SIGTERM. */
  static void onTerm(Runnable then) {
    Signal.handle(new Signal("TERM"), signal -> then.run());
  }
}
