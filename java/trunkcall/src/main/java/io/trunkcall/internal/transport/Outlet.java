package io.trunkcall.internal.transport;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.socket.DuplexChannel;
import io.netty.handler.ssl.SslHandler;
import io.trunkcall.internal.wire.Session;
import io.trunkcall.internal.wire.Sink;
import org.jspecify.annotations.Nullable;

/**
 * The output of a connection: what the session has appended goes into buffers of the channel, and
 * the session is told what has left. On the connection's loop.
 */
final class Outlet implements Sink {
  private static final int LARGEST = 64 << 10; // bytes of a buffer
  private static final int SMALLEST = 512;
  private static final long STALL = 60_000_000; // µs in which the peer reads nothing (limits.md 2)
  private static final long LOOK = 10_000_000; // µs between two looks whether it has

  private final Channel channel;
  private final Session session;
  private final boolean direct; // a socket takes direct memory; TLS and memory take arrays
  private @Nullable ByteBuf filling;
  private int next = SMALLEST; // bytes of the next buffer: what was written last
  private long unsaid; // bytes given to the channel that the session thinks unsent
  private long given; // bytes given to the channel in all
  private long lookAt = Clock.NEVER;
  private long passedOn; // when it was last looked at
  private int rest; // of the buffer that was being written then
  private long movedAt; // when that was last seen to change

  Outlet(Channel channel, Session session) {
    this.channel = channel;
    this.session = session;
    this.direct =
        channel instanceof DuplexChannel && channel.pipeline().get(SslHandler.class) == null;
  }

  /** Gives the channel all that may be written now, flushes it, and says how much it was. */
  long writeAll() {
    long size;
    try {
      size = session.take(this);
    } finally {
      pass();
    }
    if (size > 0) {
      given += size;
      unsaid += size;
      next = (int) Math.min(Math.max(size, SMALLEST), LARGEST);
      channel.flush();
    }
    return size;
  }

  @Override
  public void write(byte[] array, int offset, int length, boolean lasting) {
    int from = offset;
    int left = length;
    while (left > 0) {
      ByteBuf buffer = filling;
      if (buffer == null) {
        int size = Math.min(Math.max(next, left), LARGEST);
        buffer = direct ? channel.alloc().directBuffer(size) : channel.alloc().heapBuffer(size);
        filling = buffer;
      }
      int some = Math.min(left, LARGEST - buffer.readableBytes());
      buffer.writeBytes(array, from, some);
      from += some;
      left -= some;
      if (buffer.readableBytes() >= LARGEST) {
        pass();
      }
    }
  }

  private void pass() {
    ByteBuf full = filling;
    filling = null;
    if (full != null) {
      // A void promise costs nothing, and has a failure told to the connection.
      channel.write(full, channel.voidPromise());
    }
  }

  /** Bytes that the channel has not written. */
  private long pending() {
    ChannelOutboundBuffer output = channel.unsafe().outboundBuffer();
    return output == null ? 0 : output.totalPendingWriteBytes();
  }

  /** The channel has room: what it holds below its mark counts as left. */
  void account() {
    account(0);
  }

  /** The channel is full. */
  void accountExactly() {
    account(pending());
  }

  private void account(long unsent) {
    long left = unsaid - unsent;
    if (left > 0) {
      unsaid = unsent;
      session.wrote(left);
    }
  }

  // Whether the peer reads.

  /** When to look whether the peer reads; not while all is with the system. */
  long lookAt() {
    return lookAt;
  }

  /** Has it looked at later, if the channel has kept something. */
  void watch() {
    if (lookAt == Clock.NEVER && pending() > 0) {
      long now = Clock.micros();
      movedAt = now;
      moved();
      lookAt = now + LOOK;
    }
  }

  void stopWatching() {
    lookAt = Clock.NEVER;
  }

  /** Whether the peer has read nothing for too long. */
  boolean standsStill(long now) {
    if (now < lookAt) {
      return false;
    }
    if (moved()) {
      movedAt = now;
    } else if (now - movedAt >= STALL) {
      return true;
    }
    lookAt = pending() > 0 ? now + LOOK : Clock.NEVER;
    return false;
  }

  /** Whether something has left since this was asked last. */
  private boolean moved() {
    ChannelOutboundBuffer output = channel.unsafe().outboundBuffer();
    long before = passedOn;
    int restBefore = rest;
    passedOn = given - pending();
    rest =
        output != null && output.current() instanceof ByteBuf buffer ? buffer.readableBytes() : 0;
    return passedOn > before || rest < restBefore;
  }
}
