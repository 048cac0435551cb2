package io.trunkcall;

import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * What is handed from one thread to another: any thread adds, one takes all that has gathered. To
 * add costs one exchange in memory, and to take as much for the whole batch.
 */
final class Handover<N extends Handover.Node<N>> {
  /** Something that is handed over, once. */
  abstract static class Node<N> {
    final long size;
    @Nullable N next; // behind it, once it was taken
    private long gathered; // with all that was there before, or, of the oldest taken, behind it

    Node(long size) {
      this.size = size;
    }
  }

  private final AtomicReference<@Nullable N> newest = new AtomicReference<>();

  /** Adds one. True if there was none: who takes them is to be woken. */
  boolean add(N node) {
    N before;
    do {
      before = newest.get();
      node.next = before;
      Node<N> sum = node;
      sum.gathered = node.size + gathered(before);
    } while (!newest.compareAndSet(before, node));
    return before == null;
  }

  private long gathered(@Nullable N node) {
    Node<N> sum = node;
    return sum == null ? 0 : sum.gathered;
  }

  boolean isEmpty() {
    return newest.get() == null;
  }

  /** The size of all that was not taken. */
  long size() {
    return gathered(newest.get());
  }

  /** The size of all that was taken with this one, which is the oldest of it. */
  long sizeFrom(N oldest) {
    return gathered(oldest);
  }

  /** Takes all there is: the oldest, from which {@code next} leads to the newest. */
  @Nullable N takeAll() {
    N node = newest.get() == null ? null : newest.getAndSet(null);
    N oldest = null;
    long size = gathered(node);
    while (node != null) {
      N before = node.next;
      node.next = oldest;
      oldest = node;
      node = before;
    }
    if (oldest != null) {
      Node<N> first = oldest;
      first.gathered = size;
    }
    return oldest;
  }
}
