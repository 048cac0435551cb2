package io.trunkcall.consul;

import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.net.http.HttpResponse.BodySubscriber;
import java.net.http.HttpTimeoutException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The body of an answer as it arrives, which is read within the time for the whole answer. Whoever
 * is interrupted meanwhile fails, and is interrupted still: HttpClient's own stream would read on,
 * and forget it. Read by one thread.
 */
final class TimedBody extends InputStream implements BodySubscriber<InputStream> {
  private static final Part END = new Part(List.of(), null);

  private final Duration within;
  private final long begun;
  private final BlockingQueue<Part> arrived = new LinkedBlockingQueue<>();
  private volatile Flow.@Nullable Subscription subscription;
  private volatile boolean closed;

  private Iterator<ByteBuffer> rest = List.<ByteBuffer>of().iterator();
  private ByteBuffer now = ByteBuffer.allocate(0);
  private boolean ended;

  /** What has arrived at once, or why no more does. */
  private record Part(List<ByteBuffer> data, @Nullable Throwable fault) {}

  /** Of an answer to what was asked at a time of {@code System.nanoTime()}. */
  TimedBody(long begun, Duration within) {
    this.begun = begun;
    this.within = within;
  }

  // What HttpClient tells.

  @Override
  public CompletionStage<InputStream> getBody() {
    return CompletableFuture.completedFuture(this);
  }

  @Override
  public void onSubscribe(Flow.Subscription given) {
    subscription = given;
    if (closed) {
      given.cancel();
    } else {
      given.request(1);
    }
  }

  @Override
  public void onNext(List<ByteBuffer> data) {
    arrived.add(new Part(data, null));
  }

  @Override
  public void onError(Throwable fault) {
    arrived.add(new Part(List.of(), fault));
  }

  @Override
  public void onComplete() {
    arrived.add(END);
  }

  // What is read.

  @Override
  public int read() throws IOException {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
  }

  @Override
  public int read(byte[] to, int at, int most) throws IOException {
    while (most > 0 && !now.hasRemaining()) {
      if (rest.hasNext()) {
        now = rest.next();
      } else if (ended || !hasMore()) {
        return -1;
      }
    }
    int size = Math.min(most, now.remaining());
    now.get(to, at, size);
    return size;
  }

  /** Waits for what arrives next; false if that was all. */
  private boolean hasMore() throws IOException {
    if (closed) {
      throw new IOException("the answer was closed");
    }
    Part part;
    try {
      long left = within.toNanos() - (System.nanoTime() - begun);
      part = arrived.poll(Math.max(left, 0), TimeUnit.NANOSECONDS);
    } catch (InterruptedException end) {
      close();
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("interrupted while an answer of Consul's was read");
    }
    if (part == null) {
      close();
      throw new HttpTimeoutException(
          "Consul has not answered in full for " + within.toMillis() + " ms");
    }
    if (part.fault != null) {
      throw part.fault instanceof IOException fault ? fault : new IOException(part.fault);
    }
    ended = part == END;
    rest = part.data.iterator();
    Flow.Subscription from = subscription;
    if (!ended && from != null) {
      from.request(1);
    }
    return !ended;
  }

  @Override
  public void close() {
    closed = true;
    Flow.Subscription from = subscription;
    if (from != null) {
      from.cancel();
    }
  }
}
