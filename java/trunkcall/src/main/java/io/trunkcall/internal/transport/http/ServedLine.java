package io.trunkcall.internal.transport.http;

import io.netty.channel.EventLoop;
import io.trunkcall.internal.wire.Holder;
import io.trunkcall.internal.wire.Share;
import javax.net.ssl.SSLSession;
import org.jspecify.annotations.Nullable;

/** A connection of HTTP that answers from its {@link LineState} what is asked of all. */
interface ServedLine extends HttpLine, Holder {
  /** What it knows of itself. */
  LineState state();

  @Override
  default HttpConfig config() {
    return state().config;
  }

  @Override
  default HttpEvents events() {
    return state().events;
  }

  @Override
  default Share share() {
    return state().share;
  }

  @Override
  default long unsentBytes() {
    return unsent();
  }

  @Override
  default void reliefAsked() {
    submit(share()::relieve);
  }

  @Override
  default EventLoop loop() {
    return state().loop;
  }

  @Override
  default void submit(Runnable work) {
    state().queue.submit(work);
  }

  @Override
  default void schedule() {
    state().queue.schedule();
  }

  @Override
  default String remote() {
    return state().remote;
  }

  @Override
  default String local() {
    return state().local;
  }

  @Override
  default @Nullable SSLSession tls() {
    return state().tls == null ? null : state().tls.engine().getSession();
  }

  @Override
  default long began() {
    return state().since;
  }

  @Override
  default boolean lost() {
    return state().lost;
  }

  @Override
  default @Nullable Throwable fault() {
    return state().fault;
  }
}
