package io.trunkcall.internal.transport.http;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.handler.codec.http.DefaultHttpContent;
import io.netty.handler.codec.http.HttpObject;
import io.trunkcall.internal.wire.UnderWay;

/** What of the answers on a connection of HTTP/1.1 has not left. */
final class Http1Output {
  private static final long STALL = 60_000_000; // µs in which the peer reads nothing (limits.md 6)

  private final LineState state;
  private final Channel channel;
  private final Leaving bodies = new Leaving();
  private long before; // what was waiting at the last look
  private long movedAt;

  Http1Output(LineState state) {
    this.state = state;
    this.channel = state.channel;
  }

  /** Bytes of bodies. */
  long unsent() {
    return bodies.unsent();
  }

  /** Writes a part of an answer other than a body. False: wait. */
  boolean write(HttpObject part) {
    channel.write(part, channel.voidPromise());
    state.queue.schedule();
    return channel.isWritable();
  }

  /** Writes a message of a body, which is released. False: wait. */
  boolean body(ByteBuf message) {
    while (message.readableBytes() > Leaving.PIECE) {
      piece(message.readRetainedSlice(Leaving.PIECE), false);
    }
    piece(message, true);
    state.queue.schedule();
    return channel.isWritable();
  }

  private void piece(ByteBuf piece, boolean last) {
    int size = piece.readableBytes();
    bodies.add(size, state.now());
    channel.write(new DefaultHttpContent(piece)).addListener(done -> left(size, last));
  }

  private void left(int size, boolean last) {
    bodies.left(size, last, state.now());
    state.share.returnSurplus();
  }

  /** Why the connection is to end, since the peer does not take what is there for it; or "". */
  String stuck(long now) {
    ChannelOutboundBuffer written = channel.unsafe().outboundBuffer();
    long waiting = unsent() + (written == null ? 0 : written.totalPendingWriteBytes());
    if (waiting == 0 || waiting != before) {
      movedAt = now;
    }
    before = waiting;
    if (now - movedAt > STALL) {
      return "the peer has read nothing for 60 s of what is there for it";
    }
    return bodies.late(now) ? UnderWay.LATE : "";
  }
}
