package io.trunkcall.internal.transport.http;

import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.handler.codec.http2.DecoratingHttp2FrameWriter;
import io.netty.handler.codec.http2.Http2FrameWriter;
import java.util.function.Consumer;

/**
 * Bounds the acknowledgements and resets that wait for a peer which does not read them. All of them
 * pass here, those that the library writes by itself too.
 */
final class BoundedWriter extends DecoratingHttp2FrameWriter {
  private final int most;
  private int waiting;
  private Consumer<String> full = text -> {};

  BoundedWriter(Http2FrameWriter writer, int most) {
    super(writer);
    this.most = most;
  }

  /** Who is told, once, that there are too many. */
  void whenFull(Consumer<String> told) {
    full = told;
  }

  @Override
  public ChannelFuture writeSettingsAck(ChannelHandlerContext context, ChannelPromise promise) {
    return super.writeSettingsAck(context, counted(promise));
  }

  @Override
  public ChannelFuture writePing(
      ChannelHandlerContext context, boolean ack, long data, ChannelPromise promise) {
    return super.writePing(context, ack, data, ack ? counted(promise) : promise);
  }

  @Override
  public ChannelFuture writeRstStream(
      ChannelHandlerContext context, int id, long code, ChannelPromise promise) {
    return super.writeRstStream(context, id, code, counted(promise));
  }

  private ChannelPromise counted(ChannelPromise promise) {
    waiting++;
    if (waiting == most + 1) {
      full.accept("more than %d acknowledgements and resets were not read".formatted(most));
    }
    return promise.unvoid().addListener(done -> waiting--);
  }
}
