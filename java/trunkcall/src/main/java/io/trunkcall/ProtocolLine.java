package io.trunkcall;

import io.netty.channel.EventLoop;
import io.trunkcall.internal.transport.Clock;
import io.trunkcall.internal.transport.Line;
import javax.net.ssl.SSLSession;
import org.jspecify.annotations.Nullable;

/** What stands for a connection where calls of a protocol came by none: a loop. */
final class ProtocolLine implements Line {
  private final ProtocolEnd end;
  private final EventLoop loop;
  private final Runnable stop; // has the protocol stop; it calls stopped
  private final Runnable interrupt; // who stops
  private final long began = Clock.micros();
  private boolean draining;
  private boolean stopped;

  ProtocolLine(ProtocolEnd end, EventLoop loop, Runnable stop, Runnable interrupt) {
    this.end = end;
    this.loop = loop;
    this.stop = stop;
    this.interrupt = interrupt;
  }

  @Override
  public EventLoop loop() {
    return loop;
  }

  @Override
  public void submit(Runnable work) {
    loop.execute(work);
  }

  @Override
  public String remote() {
    return "";
  }

  @Override
  public String local() {
    return "";
  }

  @Override
  public @Nullable SSLSession tls() {
    return null;
  }

  @Override
  public long began() {
    return began;
  }

  @Override
  public void schedule() {}

  @Override
  public boolean lost() {
    return end.isOver();
  }

  @Override
  public @Nullable Throwable fault() {
    return null;
  }

  @Override
  public void drain() {
    if (!draining) {
      draining = true;
      stop.run();
    }
  }

  /** The protocol has stopped. Any thread. */
  void stopped() {
    submit(
        () -> {
          stopped = true;
          idle();
        });
  }

  /** No call is open. */
  void idle() {
    if (stopped && end.isIdle()) {
      end.disconnected("the protocol has stopped");
    }
  }

  @Override
  public void graceOver() {
    end.endCalls(Status.of(Code.UNAVAILABLE, "the server has been stopped"));
    interrupt.run();
  }

  @Override
  public void abort(String why) {
    drain();
    end.endCalls(Status.of(Code.UNAVAILABLE, why));
    interrupt.run();
    end.disconnected(why);
  }
}
