package io.trunkcall;

import io.trunkcall.internal.transport.Carrier;
import java.util.LinkedHashSet;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Calls that wait for a slot of one endpoint, or of one connection, in the order in which they
 * came. Used on the loop of its connections.
 */
final class Slots {
  private final LinkedHashSet<OpeningCall> waiting = new LinkedHashSet<>();

  boolean isEmpty() {
    return waiting.isEmpty();
  }

  int size() {
    return waiting.size();
  }

  void add(OpeningCall call) {
    waiting.add(call);
  }

  void remove(OpeningCall call) {
    waiting.remove(call);
  }

  /** The connections have changed: those who wait look anew. */
  void tryAgain() {
    if (waiting.isEmpty()) {
      return;
    }
    List<OpeningCall> all = List.copyOf(waiting);
    waiting.clear();
    for (OpeningCall call : all) {
      call.look();
    }
  }

  /** Slots are free on a connection: they go to those who have waited longest for one there. */
  static void letIn(Carrier carrier, Slots one, @Nullable Slots other) {
    while (true) {
      OpeningCall first = one.first();
      OpeningCall second = other == null ? null : other.first();
      Slots queue = one;
      if (first == null || (second != null && second.turn() < first.turn())) {
        first = second;
        queue = other == null ? one : other;
      }
      if (first == null || !first.tryOn(carrier)) {
        return;
      }
      queue.waiting.remove(first);
    }
  }

  private @Nullable OpeningCall first() {
    return waiting.isEmpty() ? null : waiting.iterator().next();
  }
}
