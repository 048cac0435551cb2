package io.trunkcall;

import io.trunkcall.internal.client.Policies;
import io.trunkcall.internal.client.Repeating;
import java.util.LinkedHashSet;
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
  final @Nullable WatchedPolicyFile file; // whose policies hold in place of those
  final ToldAttempts attempts;
  final DroppedEvents dropped = new DroppedEvents();

  /** Calls under a policy file that make no attempt for now. On the client's loop. */
  final Set<Pausing> pausing = new LinkedHashSet<>();

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
      @Nullable WatchedPolicyFile file,
      @Nullable AttemptObserver attempts) {
    this.interceptors = List.copyOf(interceptors);
    this.packing = packing;
    this.waitingLimit = waitingLimit;
    this.repeating = new Repeating(System.nanoTime());
    this.repeats = repeats;
    this.policies = policies;
    this.file = file;
    this.attempts = new ToldAttempts(attempts, dropped);
  }

  /** What the policy file says of a method; null without one. */
  @Nullable Rules rules(Method<?, ?> method) {
    return file == null ? null : file.current().of(method.name());
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
