package io.trunkcall.internal.transport;

import io.netty.buffer.ByteBuf;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.util.ArrayDeque;
import java.util.Objects;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** What has come on a connection until somebody reads it. The loop adds, one thread reads. */
final class Incoming extends InputStream {
  private static final int AHEAD = 64 << 10; // bytes that nobody has read, before reading pauses

  private final Consumer<Boolean> reads; // has the connection read on, or pause

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition more = lock.newCondition();
  private final ArrayDeque<ByteBuf> buffers = new ArrayDeque<>(); // guarded by lock, as all below
  private int held;
  private boolean paused;
  private boolean ended; // behind what is there
  private boolean dropped;
  private @Nullable IOException fault;

  Incoming(Consumer<Boolean> reads) {
    this.reads = reads;
  }

  /** More has come, which this releases. */
  void add(ByteBuf bytes) {
    lock.lock();
    try {
      if (ended || dropped || !bytes.isReadable()) {
        bytes.release();
        return;
      }
      buffers.add(bytes);
      held += bytes.readableBytes();
      if (held >= AHEAD && !paused) {
        paused = true;
        reads.accept(false);
      }
      more.signal();
    } finally {
      lock.unlock();
    }
  }

  /** No more comes, or counts. */
  void end(@Nullable IOException why) {
    lock.lock();
    try {
      if (!ended) {
        ended = true;
        fault = why;
      }
      more.signal();
    } finally {
      lock.unlock();
    }
  }

  boolean isEnded() {
    lock.lock();
    try {
      return ended;
    } finally {
      lock.unlock();
    }
  }

  /** Nobody reads any more. */
  void drop() {
    lock.lock();
    try {
      dropped = true;
      buffers.forEach(ByteBuf::release);
      buffers.clear();
      held = 0;
      more.signal();
    } finally {
      lock.unlock();
    }
  }

  @Override
  public int read() throws IOException {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xFF;
  }

  @Override
  public int read(byte[] into, int offset, int length) throws IOException {
    Objects.checkFromIndexSize(offset, length, into.length);
    if (length == 0) {
      return 0;
    }
    lock.lock();
    try {
      while (buffers.isEmpty()) {
        if (ended || dropped) {
          if (fault != null) {
            throw fault;
          }
          return -1;
        }
        await();
      }
      return take(into, offset, length);
    } finally {
      lock.unlock();
    }
  }

  private void await() throws InterruptedIOException {
    if (Loops.onLoop()) {
      throw new IllegalStateException(
          "reading from a connection waits, which nobody may on an event loop: leave it to another"
              + " thread");
    }
    try {
      more.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("interrupted while bytes were waited for");
    }
  }

  private int take(byte[] into, int offset, int length) {
    ByteBuf first = buffers.element();
    int count = Math.min(length, first.readableBytes());
    first.readBytes(into, offset, count);
    held -= count;
    if (!first.isReadable()) {
      buffers.remove().release();
    }
    if (paused && held < AHEAD / 2) {
      paused = false;
      reads.accept(true);
    }
    return count;
  }

  @Override
  public int available() {
    lock.lock();
    try {
      return held;
    } finally {
      lock.unlock();
    }
  }
}
