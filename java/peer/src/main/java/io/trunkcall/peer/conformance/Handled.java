package io.trunkcall.peer.conformance;

import com.trunkcall.conformance.v1.End;
import com.trunkcall.conformance.v1.Observed;
import com.trunkcall.conformance.v1.Until;
import io.trunkcall.ServerCall;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/** What became of handlers, by the ids of their plans. */
final class Handled {
  // Handlers are told of the end in one way, whatever the reason: with less time left, it is taken
  // to be the deadline.
  private static final Duration NEAR = Duration.ofSeconds(1);

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private final Map<String, Observed.Builder> entries = new HashMap<>(); // guarded by the lock

  /** Waits for what {@code until} says. */
  Observed observe(String id, Until until) throws InterruptedException {
    lock.lockInterruptibly();
    try {
      while (!has(entry(id), until)) {
        changed.await();
      }
      return entry(id).build();
    } finally {
      lock.unlock();
    }
  }

  private static boolean has(Observed.Builder entry, Until until) {
    return switch (until) {
      case STARTED -> entry.getStarted() > 0;
      case ENDED -> entry.getEnded() > 0;
      default -> true;
    };
  }

  /** Notes that a handler has started. */
  void started(String id) {
    if (id.isEmpty()) {
      return;
    }
    lock.lock();
    try {
      Observed.Builder entry = entry(id);
      entry.setStarted(entry.getStarted() + 1);
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** Notes that it has ended, and how that came. */
  void ended(String id, ServerCall call, Sight sight) {
    if (id.isEmpty()) {
      return;
    }
    lock.lock();
    try {
      Observed.Builder entry = entry(id);
      entry.setEnded(entry.getEnded() + 1).setEnd(end(call)).setSeen(sight.tell());
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  private static End end(ServerCall call) {
    if (!call.cancelled()) {
      return End.BY_ITSELF;
    }
    Duration left = call.timeRemaining();
    return left == null || left.compareTo(NEAR) > 0 ? End.CANCELLED : End.DEADLINE;
  }

  private Observed.Builder entry(String id) {
    return entries.computeIfAbsent(id, name -> Observed.newBuilder());
  }
}
