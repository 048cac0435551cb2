package io.trunkcall.internal.transport.http;

import io.netty.channel.Channel;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http2.Http2ConnectionDecoder;
import io.netty.handler.codec.http2.Http2ConnectionEncoder;
import io.netty.handler.codec.http2.Http2ConnectionHandler;
import io.netty.handler.codec.http2.Http2Settings;
import io.netty.handler.ssl.SslHandler;
import io.trunkcall.internal.transport.LoopQueue;
import io.trunkcall.internal.transport.Spelling;
import io.trunkcall.internal.wire.Holder;
import io.trunkcall.internal.wire.Share;
import javax.net.ssl.SSLSession;
import org.jspecify.annotations.Nullable;

/** What a connection of HTTP/2 knows of itself. */
abstract class Http2Basis extends Http2ConnectionHandler implements HttpLine, Holder {
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

  Http2Basis(
      Channel channel,
      Http2ConnectionDecoder decoder,
      Http2ConnectionEncoder encoder,
      Http2Settings settings,
      HttpConfig config,
      long since) {
    super(decoder, encoder, settings, true, false);
    this.config = config;
    this.events = config.events().get();
    this.loop = channel.eventLoop();
    this.queue = new LoopQueue(loop, this::flush);
    this.share = config.load().share(this, config.session().incompleteBytes());
    this.since = since;
    this.remote = Spelling.remote(channel);
    this.local = Spelling.local(channel);
    this.tls = channel.pipeline().get(SslHandler.class);
  }

  /** Writes what was appended. */
  abstract void flush();

  @Override
  public Share share() {
    return share;
  }

  @Override
  public long unsentBytes() {
    return unsent();
  }

  @Override
  public void reliefAsked() {
    submit(share::relieve);
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
