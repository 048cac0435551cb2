package io.trunkcall.internal.wire;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * Arrays of large messages of streams that nobody needs any more, to be used again: to get memory
 * for a message of a mebibyte, and to have it cleared, costs more than to copy the message. A few
 * are kept for the whole process, those that were needed last. Any thread.
 */
public final class LargeArrays {
  /** Bytes from which on an array is worth being kept. */
  public static final int LEAST = 128 << 10;

  private static final int SLACK = 64 << 10; // bytes that an array may be longer than is needed
  private static final LargeArrays SHARED =
      new LargeArrays(Math.min(8 << 20, Runtime.getRuntime().maxMemory() / 64));

  private static final int PLACES = 16;

  private final long most; // bytes of all
  private final AtomicReferenceArray<byte @Nullable []> places = new AtomicReferenceArray<>(PLACES);
  private final AtomicInteger given = new AtomicInteger(); // arrays, and those that made way
  private final AtomicLong size = new AtomicLong(); // bytes of all
  private final AtomicLong lent = new AtomicLong(); // bytes of those that messages are to fill

  LargeArrays(long most) {
    this.most = most;
  }

  /** Those of the process. */
  public static LargeArrays shared() {
    return SHARED;
  }

  /** An array of at least so many bytes, whatever is in them; null: there is none that fits. */
  public byte @Nullable [] take(long length) {
    for (int place = 0; place < PLACES; place++) {
      byte[] one = places.get(place);
      if (one != null
          && one.length >= length
          && one.length - length <= SLACK
          && places.compareAndSet(place, one, null)) {
        size.addAndGet(-one.length);
        return one;
      }
    }
    return null;
  }

  /**
   * The same for a message of which a piece has come: {@link #settle} tells when it is whole, or
   * will not be. Peers that begin messages and do not go on have only so much of them together.
   */
  byte @Nullable [] lend(long length) {
    byte[] one = lent.get() + length > most ? null : take(length);
    if (one != null) {
      lent.addAndGet(one.length);
    }
    return one;
  }

  /** Nothing more is to come into an array that was lent. */
  void settle(byte[] array) {
    lent.addAndGet(-array.length);
  }

  /** Bytes of arrays that were lent and not settled. */
  long lent() {
    return lent.get();
  }

  /** Nobody uses this array any more. Those that were given first make way for it. */
  public void give(byte[] array) {
    if (array.length < LEAST || array.length > most / 2) {
      return;
    }
    size.addAndGet(array.length);
    put(array);
    for (int others = 1; others < PLACES && size.get() > most; others++) {
      put(null);
    }
  }

  private void put(byte @Nullable [] array) {
    byte[] before = places.getAndSet(given.getAndIncrement() & (PLACES - 1), array);
    if (before != null) {
      size.addAndGet(-before.length);
    }
  }
}
