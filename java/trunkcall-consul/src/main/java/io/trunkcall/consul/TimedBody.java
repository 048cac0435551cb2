package io.trunkcall.consul;

import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.http.HttpTimeoutException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * The body of an answer, which is closed when the time for the whole answer is over. Used by one
 * thread, beside the timer's.
 */
final class TimedBody extends FilterInputStream {
  private final Duration within;
  private final CompletableFuture<@Nullable Void> closed = new CompletableFuture<>();
  private volatile boolean late;

  /** Of an answer to what was asked at a time of {@code System.nanoTime()}. */
  TimedBody(InputStream body, long begun, Duration within) {
    super(body);
    this.within = within;
    var unused = closed.whenComplete((done, fault) -> end(fault));
    long left = Math.max(within.toNanos() - (System.nanoTime() - begun), 0);
    closed.orTimeout(left, TimeUnit.NANOSECONDS);
  }

  private void end(@Nullable Throwable fault) {
    if (fault instanceof TimeoutException) {
      late = true;
      try {
        in.close(); // which has the reader fail
      } catch (IOException unread) {
        // The reader fails all the same.
      }
    }
  }

  @Override
  public int read() throws IOException {
    try {
      return checked(in.read());
    } catch (IOException fault) {
      throw told(fault);
    }
  }

  @Override
  public int read(byte[] to, int at, int most) throws IOException {
    try {
      return checked(in.read(to, at, most));
    } catch (IOException fault) {
      throw told(fault);
    }
  }

  /** What was read, unless it is the end because the body was closed. */
  private int checked(int read) throws IOException {
    if (read < 0 && late) {
      throw new IOException("closed");
    }
    return read;
  }

  private IOException told(IOException fault) {
    if (!late) {
      return fault;
    }
    IOException told =
        new HttpTimeoutException(
            "Consul has not answered in full for " + within.toMillis() + " ms");
    told.initCause(fault);
    return told;
  }

  @Override
  public void close() throws IOException {
    closed.complete(null); // which ends the timer
    super.close();
  }
}
