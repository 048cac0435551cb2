package io.trunkcall.internal.transport;

import org.jspecify.annotations.Nullable;

/**
 * Something to be done on the event loop of a connection ({@link Carrier#submit}). What extends it
 * is handed over without an allocation; it may be in the queue once at a time.
 */
public abstract class Work implements Runnable {
  @Nullable Work next; // behind it in the queue; owned by the queue

  /** Something that does not extend it. */
  static final class Of extends Work {
    private final Runnable work;

    Of(Runnable work) {
      this.work = work;
    }

    @Override
    public void run() {
      work.run();
    }
  }
}
