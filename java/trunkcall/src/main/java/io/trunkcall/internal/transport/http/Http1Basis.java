package io.trunkcall.internal.transport.http;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http.DefaultHttpContent;
import io.netty.handler.ssl.SslHandler;
import io.trunkcall.internal.transport.LoopQueue;
import io.trunkcall.internal.transport.Spelling;
import io.trunkcall.internal.wire.Holder;
import io.trunkcall.internal.wire.Share;
import javax.net.ssl.SSLSession;
import org.jspecify.annotations.Nullable;

/** What a connection of HTTP/1.1 knows of itself. */
abstract class Http1Basis extends ChannelInboundHandlerAdapter implements HttpLine, Holder {
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
  private long unsent; // of bodies

  Http1Basis(Channel channel, HttpConfig config, long since) {
    this.channel = channel;
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

  final void flush() {
    if (!lost) {
      share.settle();
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
  public Share share() {
    return share;
  }

  @Override
  public long unsent() {
    return unsent;
  }

  @Override
  public long unsentBytes() {
    return unsent;
  }

  @Override
  public void reliefAsked() {
    submit(share::relieve);
  }

  /** Writes a piece of a body. False: wait. */
  boolean write(ByteBuf piece) {
    int size = piece.readableBytes();
    unsent += size;
    channel.write(new DefaultHttpContent(piece)).addListener(done -> left(size));
    schedule();
    return channel.isWritable();
  }

  private void left(int size) {
    unsent -= size;
    share.returnSurplus();
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
