package io.trunkcall.internal.transport.http;

import io.netty.channel.Channel;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.EventLoop;
import io.netty.handler.ssl.SslHandler;
import io.trunkcall.internal.transport.LoopQueue;
import io.trunkcall.internal.transport.Spelling;
import javax.net.ssl.SSLSession;
import org.jspecify.annotations.Nullable;

/** What a connection of HTTP/1.1 knows of itself. */
abstract class Http1Basis extends ChannelInboundHandlerAdapter implements HttpLine {
  final Channel channel;
  final HttpConfig config;
  final HttpEvents events;
  final EventLoop loop;
  final LoopQueue queue;
  final long since;
  final String remote;
  final String local;
  final @Nullable SslHandler tls;
  boolean lost;
  @Nullable Throwable fault;
  private long held;

  Http1Basis(Channel channel, HttpConfig config, long since) {
    this.channel = channel;
    this.config = config;
    this.events = config.events().get();
    this.loop = channel.eventLoop();
    this.queue = new LoopQueue(loop, this::flush);
    this.since = since;
    this.remote = Spelling.remote(channel);
    this.local = Spelling.local(channel);
    this.tls = channel.pipeline().get(SslHandler.class);
  }

  final void flush() {
    if (!lost) {
      channel.flush();
    }
  }

  @Override
  public HttpConfig config() {
    return config;
  }

  @Override
  public HttpEvents events() {
    return events;
  }

  @Override
  public long unsentBytes() {
    ChannelOutboundBuffer output = channel.unsafe().outboundBuffer();
    return output == null ? 0 : output.totalPendingWriteBytes();
  }

  @Override
  public long heldBytes() {
    return held;
  }

  @Override
  public boolean hold(HttpCall call, long more) {
    held += more;
    return true;
  }

  @Override
  public EventLoop loop() {
    return loop;
  }

  @Override
  public void submit(Runnable work) {
    queue.submit(work);
  }

  @Override
  public void schedule() {
    queue.schedule();
  }

  @Override
  public String remote() {
    return remote;
  }

  @Override
  public String local() {
    return local;
  }

  @Override
  public @Nullable SSLSession tls() {
    return tls == null ? null : tls.engine().getSession();
  }

  @Override
  public long began() {
    return since;
  }

  @Override
  public boolean lost() {
    return lost;
  }

  @Override
  public @Nullable Throwable fault() {
    return fault;
  }
}
