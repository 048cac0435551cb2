package io.trunkcall.load;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Makes calls back to back without a thread that waits: the end of one starts the next, on the
 * thread that tells of it.
 */
final class AsyncCaller implements AsyncCall.Ended {
  private enum State {
    /** {@code start} has not returned. */
    STARTING,
    /** It has, and the call runs. */
    WAITING,
    /** The call has ended before {@code start} returned, and another is to be made. */
    ENDED,
    /** No more calls. */
    OVER
  }

  private final AsyncCall call;
  private final Window window;
  private final Window.Samples samples;
  private final CountDownLatch over = new CountDownLatch(1);

  // Whoever changes the state hands the fields below to the next thread.
  private final AtomicReference<State> state = new AtomicReference<>(State.WAITING);
  private long last;

  AsyncCaller(AsyncCall call, Window window) {
    this.call = call;
    this.window = window;
    this.samples = window.new Samples();
  }

  void begin() {
    last = window.now();
    if (window.take()) {
      makeCalls();
    } else {
      finish();
    }
  }

  void await() throws InterruptedException {
    over.await();
  }

  /** A loop, because calls that end at once would otherwise fill the stack. */
  private void makeCalls() {
    do {
      state.set(State.STARTING);
      try {
        call.start(this);
      } catch (Throwable e) {
        ended(e);
      }
    } while (!state.compareAndSet(State.STARTING, State.WAITING) && state.get() == State.ENDED);
  }

  @Override
  public void ended(Throwable failure) {
    if (failure instanceof Stopped) {
      finish();
      return;
    }
    long now = window.now();
    boolean failed = samples.note(now - last, failure);
    last = now;
    if (window.over(now) || !window.take()) {
      finish();
    } else if (failed) {
      Pauses.TIMER.schedule(
          () -> {
            last = window.now();
            next();
          },
          BlockingCaller.ERROR_PAUSE_MILLIS,
          TimeUnit.MILLISECONDS);
    } else {
      next();
    }
  }

  private void next() {
    if (!state.compareAndSet(State.STARTING, State.ENDED)) {
      makeCalls();
    }
  }

  private void finish() {
    samples.handIn();
    state.set(State.OVER);
    over.countDown();
  }

  /** Made with the first failure. */
  private static final class Pauses {
    static final ScheduledExecutorService TIMER =
        Executors.newSingleThreadScheduledExecutor(
            task -> {
              Thread thread = new Thread(task, "pauses");
              thread.setDaemon(true);
              return thread;
            });
  }
}
