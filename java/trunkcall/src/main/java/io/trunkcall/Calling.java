package io.trunkcall;

import io.trunkcall.internal.client.Policies;
import io.trunkcall.internal.client.Repeating;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** What the calls have in common that a client makes, or a server at its clients. Any thread. */
final class Calling {
  final List<ClientInterceptor> interceptors;
  final Packing packing;
  final int waitingLimit; // calls that may wait for a connection or a slot
  final Repeating repeating;
  final boolean repeats; // unless a policy says otherwise
  final Policies policies;
  final ToldAttempts attempts;
  final DroppedEvents dropped = new DroppedEvents();
  final AtomicInteger waiting = new AtomicInteger();
  private final AtomicLong everWaited = new AtomicLong();

  /** What the other side accepts that was connected last: mostly that of the next call. */
  volatile Set<Integer> accepts = Set.of(1, 2);

  Calling(
      List<ClientInterceptor> interceptors,
      Packing packing,
      int waitingLimit,
      boolean repeats,
      Policies policies,
      @Nullable AttemptObserver attempts) {
    this.interceptors = List.copyOf(interceptors);
    this.packing = packing;
    this.waitingLimit = waitingLimit;
    this.repeating = new Repeating(System.nanoTime());
    this.repeats = repeats;
    this.policies = policies;
    this.attempts = new ToldAttempts(attempts, dropped);
  }

  /** A message compressed; null if it is to be sent plain. {@code said}: by the call. */
  @Nullable Output packed(Method<?, ?> method, Output plain, @Nullable List<Compression> said) {
    return packing.request(method.name(), plain, said, accepts);
  }

  /** Counts a call that begins to wait; gives its turn. Throws StatusException when too many do. */
  long queued() {
    if (waiting.incrementAndGet() > waitingLimit) {
      waiting.decrementAndGet();
      throw Failures.local(
          Code.RESOURCE_EXHAUSTED,
          "waiting calls have reached their limit of " + waitingLimit,
          Delivery.NOT_SENT);
    }
    return everWaited.incrementAndGet();
  }

  void waitsNoMore() {
    waiting.decrementAndGet();
  }
}
