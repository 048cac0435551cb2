package io.trunkcall.internal.transport.http;

import io.netty.channel.Channel;
import io.netty.channel.EventLoop;
import io.netty.handler.ssl.SslHandler;
import io.trunkcall.internal.transport.Faults;
import io.trunkcall.internal.transport.LoopQueue;
import io.trunkcall.internal.transport.Spelling;
import io.trunkcall.internal.wire.Share;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** What a connection of HTTP knows of itself, whichever version it speaks. */
final class LineState {
  private static final System.Logger LOG = System.getLogger("io.trunkcall");

  final Channel channel;
  final HttpConfig config;
  final HttpEvents events;
  final EventLoop loop;
  final LoopQueue queue;
  final Share share;
  final long since;
  final String remote;
  final String local;
  final @Nullable SslHandler tls;
  boolean lost;
  @Nullable Throwable fault;
  private @Nullable ScheduledFuture<?> timer;

  /** Of a connection that began at {@code since}; its output is written by {@code flush}. */
  LineState(Channel channel, HttpConfig config, long since, ServedLine line, Runnable flush) {
    this.channel = channel;
    this.config = config;
    this.events = config.events().get();
    this.loop = channel.eventLoop();
    this.queue = new LoopQueue(loop, flush);
    this.share = config.load().share(line, config.session().incompleteBytes());
    this.since = since;
    this.remote = Spelling.remote(channel);
    this.local = Spelling.local(channel);
    this.tls = channel.pipeline().get(SslHandler.class);
  }

  long now() {
    return config.now();
  }

  /**
   * Looks from time to time at what takes too long. Where that throws, the connection is to end by
   * it: a connection whose limits of time nobody looks at would stay for good.
   */
  void watch(Runnable tick, Consumer<Throwable> end) {
    timer =
        loop.scheduleWithFixedDelay(
            () -> {
              try {
                tick.run();
              } catch (Throwable thrown) {
                LOG.log(System.Logger.Level.ERROR, "looking at a connection's time failed", thrown);
                end.accept(thrown);
              }
            },
            config.tick(),
            config.tick(),
            TimeUnit.MICROSECONDS);
  }

  void unwatch() {
    if (timer != null) {
      timer.cancel(false);
    }
  }

  /** What the connection ended by, if its transport did not say {@code why}. */
  String told(String why) {
    if (!why.isEmpty()) {
      return why;
    }
    return fault == null ? "closed" : Faults.text(fault);
  }
}
