package io.trunkcall;

import io.trunkcall.internal.client.Balancers;
import java.util.List;
import java.util.Objects;
import java.util.function.Function;

/**
 * Makes the picker for a set of endpoints. One balancer may serve several clients, at once; each
 * calls it from its loop, one call at a time, so it must not block.
 */
@FunctionalInterface
public interface Balancer {
  /**
   * Called with each change of the set or of a state in it, also of one that a weight changes in.
   * The list never changes.
   */
  Picker balance(List<EndpointState> endpoints);

  /**
   * Whether the balancer is given the whole set, and endpoints are connected once they are picked.
   * For others all endpoints are connected, and kept so.
   */
  default boolean lazy() {
    return false;
  }

  /** What errors call it. */
  default String name() {
    return getClass().getSimpleName();
  }

  /** The first endpoint in order that is not failing. It alone is connected; others if it fails. */
  static Balancer first() {
    return Balancers.first();
  }

  /**
   * The endpoints that are ready take turns, as often as their weights say. It is the default of a
   * client.
   */
  static Balancer roundRobin() {
    return Balancers.roundRobin();
  }

  /**
   * Of two endpoints drawn at random that with the lesser load: its calls in flight, times its
   * moving latency.
   */
  static Balancer leastLoaded() {
    return Balancers.leastLoaded();
  }

  /**
   * Calls with the same value of a metadata entry go to the same endpoint as long as it is there,
   * and to the next in rank while it fails. Calls without the entry are spread.
   */
  static Balancer hash(String entry) {
    Objects.requireNonNull(entry, "entry");
    return Balancers.hash(entry);
  }

  /** The same with a key that a function says; calls for which it is empty are spread. */
  static Balancer hash(Function<? super Pick, String> key) {
    Objects.requireNonNull(key, "key");
    return Balancers.hash(key);
  }
}
