package io.trunkcall.internal.transport.http;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2ConnectionDecoder;
import io.netty.handler.codec.http2.Http2ConnectionEncoder;
import io.netty.handler.codec.http2.Http2ConnectionHandler;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2FrameAdapter;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2Settings;
import io.netty.handler.ssl.SslCloseCompletionEvent;
import io.netty.util.ReferenceCountUtil;
import io.trunkcall.Code;
import io.trunkcall.Delivery;
import io.trunkcall.Metadata;
import io.trunkcall.Status;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Tells a peer of HTTP/2 why it is not served here, and closes (http.md 1). For a second its
 * requests are answered one by one: with GOAWAY alone, clients of gRPC would make them again at
 * once, on a new connection that would end in the same way.
 */
final class Declining extends Http2ConnectionHandler {
  private static final long TIME = 1_000; // ms in which requests are answered
  private static final long LINGER = 1_000; // ms in which what comes behind that is discarded
  private static final int MOST = 64 << 10; // bytes that are read

  private final String text;
  private int read;
  private boolean over;

  Declining(
      Http2ConnectionDecoder decoder,
      Http2ConnectionEncoder encoder,
      Http2Settings settings,
      String text) {
    super(decoder, encoder, settings, true, false);
    this.text = text;
    decoder.frameListener(new Requests());
  }

  private final class Requests extends Http2FrameAdapter {
    @Override
    public void onHeadersRead(
        ChannelHandlerContext context,
        int id,
        Http2Headers headers,
        int dependency,
        short weight,
        boolean exclusive,
        int padding,
        boolean end) {
      onHeadersRead(context, id, headers, padding, end);
    }

    @Override
    public void onHeadersRead(
        ChannelHandlerContext context, int id, Http2Headers headers, int padding, boolean end) {
      if (headers.method() != null) { // no trailers
        answer(context, id, headers);
      }
    }
  }

  private void answer(ChannelHandlerContext context, int id, Http2Headers request) {
    CharSequence type = request.get("content-type");
    if (type != null && Grpc.HTTP2.codec(type.toString()) != null) {
      Http2Headers answer = new DefaultHttp2Headers(false).status("200");
      answer.add("content-type", "application/grpc");
      Status status = Status.of(Code.UNAVAILABLE, text).withDelivery(Delivery.REFUSED);
      List<Field> fields = GrpcStatus.fields(status, Metadata.EMPTY);
      fields.forEach(field -> answer.add(field.name(), field.value()));
      encoder().writeHeaders(context, id, answer, 0, true, context.newPromise());
      return;
    }
    byte[] body = (text + "\n").getBytes(StandardCharsets.UTF_8);
    Http2Headers answer = new DefaultHttp2Headers(false).status("400");
    answer.add("content-type", "text/plain; charset=utf-8");
    answer.add("content-length", Integer.toString(body.length));
    boolean bare = "HEAD".contentEquals(request.method());
    encoder().writeHeaders(context, id, answer, 0, bare, context.newPromise());
    if (!bare) {
      ByteBuf bytes = Unpooled.wrappedBuffer(body);
      encoder().writeData(context, id, bytes, 0, true, context.newPromise());
    }
  }

  @Override
  public void handlerAdded(ChannelHandlerContext context) throws Exception {
    super.handlerAdded(context);
    context.flush();
    context.executor().schedule(() -> end(context), TIME, TimeUnit.MILLISECONDS);
  }

  private void end(ChannelHandlerContext context) {
    if (over) {
      return;
    }
    over = true;
    int last = connection().remote().lastStreamCreated();
    ByteBuf debug = ByteBufUtil.writeUtf8(context.alloc(), text);
    goAway(context, last, Http2Error.INADEQUATE_SECURITY.code(), debug, context.newPromise());
    flush(context);
    context
        .executor()
        .schedule(() -> Http2.closeAtOnce(context.channel()), LINGER, TimeUnit.MILLISECONDS);
  }

  @Override
  public void channelRead(ChannelHandlerContext context, Object message) throws Exception {
    if (message instanceof ByteBuf buffer) {
      read += buffer.readableBytes();
    }
    if (read > MOST) {
      end(context);
    }
    if (over) {
      ReferenceCountUtil.release(message);
    } else {
      super.channelRead(context, message);
    }
  }

  @Override
  public void userEventTriggered(ChannelHandlerContext context, Object event) throws Exception {
    if (event instanceof ChannelInputShutdownEvent || event instanceof SslCloseCompletionEvent) {
      Http2.closeAtOnce(context.channel()); // it has read to the end, or gave up
    }
    super.userEventTriggered(context, event);
  }
}
