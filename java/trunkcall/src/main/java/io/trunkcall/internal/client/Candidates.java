package io.trunkcall.internal.client;

import io.trunkcall.EndpointState;
import io.trunkcall.Pick;
import io.trunkcall.Picker;
import io.trunkcall.State;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Among which endpoints a picker chooses (client.md 10.2). */
final class Candidates {
  private Candidates() {}

  /** One way to choose among endpoints that are in the same state, in the order of the set. */
  interface Group {
    List<EndpointState> among();

    /** One of them; not {@code avoid}, if there is another. */
    EndpointState choose(@Nullable EndpointState avoid);
  }

  /** Those that lazy balancers choose among. */
  static List<EndpointState> notFailing(List<EndpointState> endpoints) {
    return endpoints.stream().filter(one -> one.state() != State.FAILING).toList();
  }

  /**
   * A picker for a balancer that is not lazy: among the ready ones, else those that may become so.
   */
  static Picker eager(List<EndpointState> endpoints, Function<List<EndpointState>, Group> group) {
    List<EndpointState> ready = new ArrayList<>();
    List<EndpointState> coming = new ArrayList<>();
    for (EndpointState one : endpoints) {
      switch (one.state()) {
        case READY -> ready.add(one);
        case IDLE, CONNECTING -> coming.add(one);
        case FAILING -> {}
      }
    }
    Group first = ready.isEmpty() ? null : group.apply(ready);
    Group second = coming.isEmpty() ? null : group.apply(coming);
    return call -> pick(call, first, second);
  }

  private static @Nullable EndpointState pick(
      Pick call, @Nullable Group first, @Nullable Group second) {
    EndpointState avoid = call.avoid();
    if (first != null && others(first, avoid)) {
      return first.choose(avoid);
    }
    if (second != null && others(second, avoid)) {
      return second.choose(avoid);
    }
    return first != null || second != null ? avoid : null;
  }

  /** Whether there is one that is not to be avoided. */
  private static boolean others(Group group, @Nullable EndpointState avoid) {
    List<EndpointState> among = group.among();
    return among.size() > 1 || among.get(0) != avoid;
  }
}
