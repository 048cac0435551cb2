package io.trunkcall.internal.transport;

import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * What other threads hand over to a connection: any number of threads add, its loop takes all at
 * once. Nodes may be added again as soon as they were taken: the queue is only ever emptied whole,
 * so a node that comes back to its head does no harm.
 */
final class WorkQueue {
  private final AtomicReference<@Nullable Work> newest = new AtomicReference<>();

  /** Adds work. True if there was none: the loop is to be woken. */
  boolean add(Runnable work) {
    Work node = work instanceof Work own ? own : new Work.Of(work);
    Work before;
    do {
      before = newest.get();
      node.next = before;
    } while (!newest.compareAndSet(before, node));
    return before == null;
  }

  boolean isEmpty() {
    return newest.get() == null;
  }

  /** Takes all there is: the oldest, from which {@code next} leads to the newest. */
  @Nullable Work takeAll() {
    Work node = newest.getAndSet(null);
    Work oldest = null;
    while (node != null) {
      Work older = node.next;
      node.next = oldest;
      oldest = node;
      node = older;
    }
    return oldest;
  }
}
