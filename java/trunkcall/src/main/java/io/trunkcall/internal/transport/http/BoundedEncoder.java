package io.trunkcall.internal.transport.http;

import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.handler.codec.http2.DecoratingHttp2ConnectionEncoder;
import io.netty.handler.codec.http2.Http2ConnectionEncoder;
import io.netty.handler.codec.http2.Http2LifecycleManager;
import org.jspecify.annotations.Nullable;

/** Bounds the acknowledgements and resets that wait for a peer which does not read them. */
final class BoundedEncoder extends DecoratingHttp2ConnectionEncoder {
  private final int most;
  private int waiting;
  private @Nullable Http2LifecycleManager manager;

  BoundedEncoder(Http2ConnectionEncoder encoder, int most) {
    super(encoder);
    this.most = most;
  }

  @Override
  public void lifecycleManager(Http2LifecycleManager manager) {
    this.manager = manager;
    super.lifecycleManager(manager);
  }

  @Override
  public ChannelFuture writeSettingsAck(ChannelHandlerContext context, ChannelPromise promise) {
    return super.writeSettingsAck(context, counted(context, promise));
  }

  @Override
  public ChannelFuture writePing(
      ChannelHandlerContext context, boolean ack, long data, ChannelPromise promise) {
    return super.writePing(context, ack, data, ack ? counted(context, promise) : promise);
  }

  @Override
  public ChannelFuture writeRstStream(
      ChannelHandlerContext context, int id, long code, ChannelPromise promise) {
    return super.writeRstStream(context, id, code, counted(context, promise));
  }

  private ChannelPromise counted(ChannelHandlerContext context, ChannelPromise promise) {
    waiting++;
    Http2LifecycleManager told = manager;
    if (waiting == most + 1 && told != null) {
      String text = "more than %d acknowledgements and resets were not read".formatted(most);
      told.onError(context, true, GuardedReader.calm(text));
    }
    return promise.unvoid().addListener(done -> waiting--);
  }
}
