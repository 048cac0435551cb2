package io.trunkcall.lab.echo;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.trunkcall.lab.program.WrongAnswer;
import io.trunkcall.load.AsyncCall;
import java.io.EOFException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A connection that callers share. Callers append their frames to one buffer, the event loop writes
 * all that has gathered in one go, and wakes the callers whose frames came back. Callers register
 * before the load starts.
 */
final class Line extends ChannelInboundHandlerAdapter {
  private final Channel channel;
  private final byte[] payload;
  private final ByteBuf want;
  private final List<AsyncCall.Ended> waiting = new ArrayList<>(); // by the number of the caller

  private final ReentrantLock lock = new ReentrantLock();
  // Guarded by the lock, as are the places of those who wait.
  private ByteBuf gathered;
  private Throwable failure;

  // Of the event loop.
  private ByteBuf rest = Unpooled.EMPTY_BUFFER;

  Line(Channel channel, byte[] payload) {
    this.channel = channel;
    this.payload = payload;
    this.want = Unpooled.wrappedBuffer(payload);
  }

  /** One more of those who share the line. */
  AsyncCall caller() {
    int number = waiting.size();
    waiting.add(null);
    byte[] frame = Frame.of(number, payload);
    return ended -> send(number, frame, ended);
  }

  private void send(int number, byte[] frame, AsyncCall.Ended ended) {
    boolean first;
    Throwable failed;
    lock.lock();
    try {
      first = gathered == null;
      failed = failure;
      if (failed == null) {
        waiting.set(number, ended);
        if (first) {
          gathered = channel.alloc().buffer();
        }
        gathered.writeBytes(frame);
      }
    } finally {
      lock.unlock();
    }
    if (failed != null) {
      ended.ended(failed);
    } else if (first) {
      channel.eventLoop().execute(this::flush);
    }
  }

  private void flush() {
    ByteBuf all;
    lock.lock();
    try {
      all = gathered;
      gathered = null;
    } finally {
      lock.unlock();
    }
    channel.writeAndFlush(all, channel.voidPromise());
  }

  @Override
  public void channelRead(ChannelHandlerContext context, Object data) {
    ByteBuf buffer = (ByteBuf) data;
    if (rest.isReadable()) {
      buffer = Unpooled.wrappedBuffer(rest, buffer);
    }
    int size = Frame.HEADER + payload.length;
    while (buffer.readableBytes() >= size) {
      int number = buffer.getIntLE(buffer.readerIndex() + 4);
      boolean right =
          ByteBufUtil.equals(buffer, buffer.readerIndex() + Frame.HEADER, want, 0, payload.length);
      buffer.skipBytes(size);
      take(number).ended(right ? null : WrongAnswer.ofBytes(payload.length));
    }
    if (buffer.isReadable()) {
      rest = buffer;
    } else {
      rest = Unpooled.EMPTY_BUFFER;
      buffer.release();
    }
  }

  private AsyncCall.Ended take(int number) {
    lock.lock();
    try {
      return waiting.set(number, null);
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void channelInactive(ChannelHandlerContext context) {
    fail(new EOFException("the server has ended the connection"));
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext context, Throwable why) {
    fail(why);
    context.close();
  }

  /** Gives up the line: those who wait, and those to come, get the failure. */
  private void fail(Throwable why) {
    List<AsyncCall.Ended> all;
    lock.lock();
    try {
      if (failure != null) {
        return;
      }
      failure = why;
      all = new ArrayList<>(waiting);
    } finally {
      lock.unlock();
    }
    for (AsyncCall.Ended each : all) {
      if (each != null) {
        each.ended(why);
      }
    }
  }
}
