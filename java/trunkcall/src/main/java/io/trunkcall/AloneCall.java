package io.trunkcall;

import io.trunkcall.internal.transport.TurnLoop;
import org.jspecify.annotations.Nullable;

/**
 * What there is to a served call that has come alone: it is noted how long its handler takes, and
 * the loop's own thread may run it.
 */
final class AloneCall implements TurnLoop.Here {
  private final ServingCall call;
  private long began; // ns
  private @Nullable Thread here; // the loop's own thread, while it runs the handler
  private boolean ended; // there

  AloneCall(ServingCall call) {
    this.call = call;
  }

  void begins() {
    began = System.nanoTime();
  }

  /**
   * The handler is done. Whether that was on the loop's own thread: then the answer is handed over
   * behind this, when the loop is taken back.
   */
  boolean ends() {
    call.served.took(System.nanoTime() - began);
    if (here != Thread.currentThread()) {
      return false;
    }
    ended = true;
    return true;
  }

  @Override
  public void run() {
    here = Thread.currentThread();
    call.run();
  }

  @Override
  public void ran(boolean taken) {
    here = null;
    if (taken) {
      call.served.took(Long.MAX_VALUE);
    }
    if (ended) {
      call.end.line().submit(call);
    }
  }

  /** It is run where handlers are. */
  void elsewhere() {
    call.end.runOrRefuse(call);
  }
}
